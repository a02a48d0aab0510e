# Runs rtpengine with the addresses of its node.
set -eu
. "${0%/*}/public-ip.sh"

public=$(public_ip)
exec rtpengine --foreground --log-stderr --table=-1 \
  --interface="public/$CHART_ADDRESS${public:+!$public};private/$CHART_ADDRESS" \
  --listen-ng="$CHART_ADDRESS:$CHART_CONTROL_PORT" \
  --port-min="$CHART_PORT_MIN" --port-max="$CHART_PORT_MAX" \
  --timeout=60 --offer-timeout=120 --silent-timeout=3600
