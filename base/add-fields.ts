/** Sums of counts that are kept together in a record. */

/** Adds two records of numbers field by field; both have the same fields. */
export function addFields<Counts extends { readonly [Name in keyof Counts]: number }>(
  one: Counts,
  other: Counts,
): Counts {
  const names = Object.keys(one) as (keyof Counts)[];
  return Object.fromEntries(names.map((name) => [name, one[name] + other[name]])) as unknown as Counts;
}
