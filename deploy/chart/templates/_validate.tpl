{{/* Refuses values that cannot work together, and says what to do. */}}

{{- define "parley.validate" -}}
{{- include "parley.validateSecrets" . }}
{{- include "parley.validateStore" . }}
{{- include "parley.validateWorkers" . }}
{{- include "parley.validateRelay" . }}
{{- include "parley.validateExtras" . }}
{{- include "parley.validateEnv" (dict "where" "env" "env" .Values.env "root" .) }}
{{- include "parley.validateEnv" (dict "where" "controlPlane.env" "env" .Values.controlPlane.env "root" .) }}
{{- include "parley.validateEnv" (dict "where" "worker.env" "env" .Values.worker.env "root" .) }}
{{- include "parley.validateEnv" (dict "where" "signalling.env" "env" .Values.signalling.env "root" .) }}
{{- end }}

{{- define "parley.validateSecrets" -}}
{{- if not .Values.secrets.existingSecret }}
{{- fail "secrets.existingSecret: name a Secret with the keys ROOT_API_KEY, WORKER_TOKEN, MASTER_KEY and DRACHTIO_SECRET. docs/kubernetes.md has the command that makes one." }}
{{- end }}
{{- if not .Values.publicUrl }}
{{- fail "publicUrl: set the address at which people and browsers reach the API, such as https://parley.example.com" }}
{{- end }}
{{- include "parley.validateKeys" (dict "where" "secrets.keys" "keys" .Values.secrets.keys "root" . "isShared" true) }}
{{- include "parley.validateKeys" (dict "where" "worker.secretKeys" "keys" .Values.worker.secretKeys "root" . "isShared" true) }}
{{- include "parley.validateKeys" (dict "where" "controlPlane.secretKeys" "keys" .Values.controlPlane.secretKeys "root" . "isShared" false) }}
{{- end }}

{{- define "parley.isSetting" -}}
{{- if or (has .name (.root.Files.Lines "files/settings.txt")) (regexMatch "^(OTEL|NODE)_" .name) }}true{{ end }}
{{- end }}

{{- define "parley.validateKeys" -}}
{{- $withheld := include "parley.withheld" . | fromJsonArray }}
{{- range .keys }}
{{- if not (include "parley.isSetting" (dict "name" . "root" $.root)) }}
{{- fail (printf "%s: %s is not a setting. docs/settings.md lists all of them; the Secret's keys have the same names." $.where .) }}
{{- end }}
{{- if and $.isShared (has . $withheld) }}
{{- fail (printf "%s: workers must not have %s. Move it to controlPlane.secretKeys." $.where .) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "parley.validateEnv" -}}
{{- $managed := include "parley.managed" . | fromJson }}
{{- range $name, $value := .env }}
{{- if hasKey $managed $name }}
{{- fail (printf "%s: %s comes from %s." $.where $name (get $managed $name)) }}
{{- end }}
{{- if and (include "parley.isFileSetting" $name) (ne $name "ICE_SERVERS") }}
{{- fail (printf "%s: %s is a secret. Put it into the Secret, and its name into controlPlane.secretKeys, or secrets.keys if workers need it too." $.where $name) }}
{{- end }}
{{- if not (include "parley.isSetting" (dict "name" $name "root" $.root)) }}
{{- fail (printf "%s: %s is not a setting. docs/settings.md lists all of them." $.where $name) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "parley.validateStore" -}}
{{- $control := .Values.controlPlane }}
{{- $blobs := toString (default (get .Values.env "BLOBS_URL") (get $control.env "BLOBS_URL")) }}
{{- $hasMongodb := has "MONGODB_URL" $control.secretKeys }}
{{- if and (gt (int $control.replicas) 1) $control.persistence.enabled }}
{{- fail "controlPlane.persistence: only one control plane can use a volume. Set controlPlane.replicas to 1, or use MongoDB, Redis and a bucket." }}
{{- end }}
{{- if and $control.persistence.enabled (ne $control.strategy "Recreate") }}
{{- fail "controlPlane.strategy: must be Recreate with controlPlane.persistence, because only one pod at a time can use the volume." }}
{{- end }}
{{- if and (gt (int $control.replicas) 1) (not (and $hasMongodb (has "REDIS_URL" $control.secretKeys))) }}
{{- fail "controlPlane.replicas: more than one needs MONGODB_URL and REDIS_URL in the Secret and in controlPlane.secretKeys." }}
{{- end }}
{{- if not (or $hasMongodb $control.persistence.enabled) }}
{{- fail "controlPlane.secretKeys: without MONGODB_URL the database is in the pod and is lost with it. Add MONGODB_URL, or set controlPlane.persistence.enabled for one control plane with an embedded database." }}
{{- end }}
{{- if not (or (hasPrefix "s3://" $blobs) $control.persistence.enabled) }}
{{- fail "controlPlane.env.BLOBS_URL: set a bucket (s3://bucket?endpoint=…), because recordings in a pod are lost with it. Its keys are AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the Secret and in controlPlane.secretKeys." }}
{{- end }}
{{- end }}

{{- define "parley.validateWorkers" -}}
{{- $worker := .Values.worker }}
{{- $first := int $worker.rtp.first }}
{{- $last := int $worker.rtp.last }}
{{- $most := ternary (int $worker.autoscaling.maxReplicas) (int $worker.replicas) $worker.autoscaling.enabled }}
{{- $ports := add 1 (sub $last $first) }}
{{- if and (not $worker.hostNetwork) (ne .Values.sip.mode "none") (not (include "parley.relays" .)) }}
{{- fail "worker.hostNetwork: phone audio reaches workers on the host's network, or through a relay. Set relay.enabled or relay.external, or worker.hostNetwork to true." }}
{{- end }}
{{- if include "parley.workersShareNodes" . }}
{{- if gt $most 10 }}
{{- fail "worker.onePerNode: at most ten workers can share nodes. Set worker.onePerNode to true, or worker.replicas (with autoscaling maxReplicas) to at most 10." }}
{{- end }}
{{- if mod (int $worker.healthPort) 10 }}
{{- fail "worker.healthPort: must be a multiple of 10 while workers share nodes: each adds the number of its pod." }}
{{- end }}
{{- if lt $ports (mul $most (int $worker.rtp.portsEach)) }}
{{- fail (printf "worker.rtp: %d workers with %d ports each need %d ports, and %d to %d are %d." $most (int $worker.rtp.portsEach) (mul $most (int $worker.rtp.portsEach)) $first $last $ports) }}
{{- end }}
{{- $ports = int $worker.rtp.portsEach }}
{{- end }}
{{- if lt (int64 $ports) (mul 2 (int $worker.maxCalls)) }}
{{- fail (printf "worker.rtp: a worker with maxCalls %d needs at least %d ports, two for each call, and has %d." (int $worker.maxCalls) (mul 2 (int $worker.maxCalls)) $ports) }}
{{- end }}
{{- range $where, $port := dict "worker.healthPort" $worker.healthPort "signalling.healthPort" .Values.signalling.healthPort "sip.port" .Values.sip.port "sip.tlsPort" .Values.sip.tlsPort "sip.workerPort" .Values.sip.workerPort "relay.controlPort" .Values.relay.controlPort }}
{{- if and (ge (int $port) $first) (le (int $port) $last) }}
{{- fail (printf "%s: %d is one of the media ports of worker.rtp. Choose another." $where (int $port)) }}
{{- end }}
{{- end }}
{{- if $worker.autoscaling.enabled }}
{{- if not .Values.metrics.enabled }}
{{- fail "worker.autoscaling: reads the metrics of workers. Set metrics.enabled." }}
{{- end }}
{{- if lt (int $worker.autoscaling.minReplicas) 2 }}
{{- fail "worker.autoscaling: minReplicas must be at least 2. The last worker could not hand its calls over when its node is emptied or lost." }}
{{- end }}
{{- if gt (int $worker.autoscaling.minReplicas) (int $worker.autoscaling.maxReplicas) }}
{{- fail "worker.autoscaling: minReplicas must not be above maxReplicas." }}
{{- end }}
{{- end }}
{{- end }}

{{- define "parley.validateRelay" -}}
{{- $relay := .Values.relay }}
{{- if and $relay.enabled $relay.external }}
{{- fail "relay: set relay.enabled or relay.external, not both." }}
{{- end }}
{{- if and $relay.enabled (not (and $relay.image.repository $relay.image.tag)) }}
{{- fail "relay.image: set repository and tag of an image that contains rtpengine and sh, such as Debian with the package rtpengine-daemon. There is no official one." }}
{{- end }}
{{- if and $relay.externalInterfaces (not $relay.external) }}
{{- fail "relay.externalInterfaces: belongs to relay.external." }}
{{- end }}
{{- if and $relay.enabled .Values.worker.hostNetwork (le (int $relay.ports.first) (int .Values.worker.rtp.last)) (ge (int $relay.ports.last) (int .Values.worker.rtp.first)) }}
{{- fail "relay.ports: overlap with worker.rtp, and both may be on one node." }}
{{- end }}
{{- end }}

{{- define "parley.validateExtras" -}}
{{- if and (eq .Values.sip.mode "external") (not .Values.sip.servers) }}
{{- fail "sip.servers: name the host:port of each external signalling server, or set sip.mode to embedded or none." }}
{{- end }}
{{- if and (ne .Values.sip.mode "external") .Values.sip.servers }}
{{- fail "sip.servers: belongs to sip.mode external." }}
{{- end }}
{{- if and .Values.metrics.podMonitor.enabled (not .Values.metrics.enabled) }}
{{- fail "metrics.podMonitor: set metrics.enabled too." }}
{{- end }}
{{- if and .Values.networkPolicy.enabled (not .Values.networkPolicy.nodeCidrs) (or .Values.worker.hostNetwork .Values.relay.enabled (eq .Values.sip.mode "embedded")) }}
{{- fail "networkPolicy.nodeCidrs: list the addresses of the nodes. Workers and signalling on the host's network reach the control planes from them." }}
{{- end }}
{{- end }}
