# Prints the public address of this node, nothing if no node has one. CHART_PUBLIC_IPS: "node=address …".
public_ip() {
  [ -n "${CHART_PUBLIC_IPS:-}" ] || return 0
  for entry in $CHART_PUBLIC_IPS; do
    if [ "${entry%%=*}" = "$CHART_NODE" ]; then
      echo "${entry#*=}"
      return 0
    fi
  done
  echo "network.publicIps has no address of the node $CHART_NODE" >&2
  return 1
}
