# Succeeds if this worker answers the path in $1 with 200. For workers that share a node: each has its own
# port, which the kubelet cannot know.
exec 3<> "/dev/tcp/$HEALTH_HOST/$((HEALTH_PORT + ${CHART_POD##*-}))" || exit 1
printf 'GET %s HTTP/1.0\r\n\r\n' "$1" >&3
read -r -t 2 line <&3 && [[ $line == HTTP/1.?\ 200* ]]
