/** An asynchronous queue: values are added by one side and awaited by the other, in order, until it ends. */
export class TextQueue<T> implements AsyncIterable<T> {
  readonly #waiting: T[] = [];
  #isEnded = false;
  #wake: () => void = () => {};

  /** Values not yet taken. */
  get length(): number {
    return this.#waiting.length;
  }

  add(value: T): void {
    this.#waiting.push(value);
    this.#wake();
  }

  end(): void {
    this.#isEnded = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      const value = this.#waiting.shift();
      if (value !== undefined) yield value;
      else if (this.#isEnded) return;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }
}
