# Runs Node with the settings that depend on the node and on the number of the pod.
set -eu
. "${0%/*}/public-ip.sh"

public=$(public_ip)
export SIP_HOST="$CHART_ADDRESS"
if [ -n "$public" ]; then
  export SIP_PUBLIC_IP="$public" MEDIA_PUBLIC_IP="$public"
  # The public address may be one of this machine, or one that a router translates. Behind a relay only the
  # relay sends here.
  [ -n "${CHART_RELAYED:-}" ] || SIP_HOST=0.0.0.0
fi
# Workers that share a node: each has its own ports, by its number.
if [ -n "${CHART_PORTS_EACH:-}" ]; then
  number=${CHART_POD##*-}
  RTP_PORT_MIN=$((RTP_PORT_MIN + number * CHART_PORTS_EACH))
  RTP_PORT_MAX=$((RTP_PORT_MIN + CHART_PORTS_EACH - 1))
  HEALTH_PORT=$((HEALTH_PORT + number))
  export RTP_PORT_MIN RTP_PORT_MAX HEALTH_PORT
fi
exec node "$@"
