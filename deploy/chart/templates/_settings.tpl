{{/* The environment of a part: settings, and secrets as files or, where Parley reads none, as variables. */}}

{{/* Settings that values have another name for. */}}
{{- define "parley.managed" -}}
{
  "HOST": "the chart",
  "PORT": "the chart (controlPlane.service.port is the port of the Service)",
  "DATA_DIR": "the chart",
  "PUBLIC_URL": "publicUrl",
  "TRUST_PROXY": "controlPlane.trustProxy",
  "TLS_CERT": "controlPlane.tlsSecret",
  "TLS_KEY": "controlPlane.tlsSecret",
  "CONTROL_PLANE_URL": "the chart",
  "WORKER_MAX_CALLS": "worker.maxCalls",
  "DRAIN_SECONDS": "worker.drainSeconds",
  "HEALTH_HOST": "metrics.enabled",
  "HEALTH_PORT": "worker.healthPort and signalling.healthPort",
  "SIP_HOST": "the chart",
  "SIP_PORT": "sip.port",
  "SIP_TLS_CERT": "sip.tlsSecret",
  "SIP_TLS_KEY": "sip.tlsSecret",
  "SIP_TLS_PORT": "sip.tlsPort",
  "SIP_PUBLIC_IP": "network.publicIps",
  "SIP_TRUSTED": "sip.trusted",
  "MEDIA_PUBLIC_IP": "network.publicIps",
  "DRACHTIO_HOST": "sip.mode and sip.servers",
  "DRACHTIO_PORT": "sip.workerPort and sip.servers",
  "DRACHTIO_SERVERS": "sip.mode and sip.servers",
  "RTP_PORT_MIN": "worker.rtp",
  "RTP_PORT_MAX": "worker.rtp",
  "RTPENGINE": "relay",
  "RTPENGINE_INTERFACES": "relay",
  "LIVEKIT_URL": "livekit.url"
}
{{- end }}

{{/* Secrets that only control planes may have. */}}
{{- define "parley.withheld" -}}
["ROOT_API_KEY", "MASTER_KEY", "MASTER_KEY_OLD", "METRICS_TOKEN", "MONGODB_URL", "REDIS_URL",
 "TWILIO_ACCOUNT_SID", "TWILIO_AUTH_TOKEN", "LIVEKIT_API_KEY", "LIVEKIT_API_SECRET", "SIP_TRUNK_USERNAME",
 "SIP_TRUNK_PASSWORD", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]
{{- end }}

{{/* "true" if Parley reads NAME_FILE for this name. */}}
{{- define "parley.isFileSetting" -}}
{{- $others := list "ICE_SERVERS" "MASTER_KEY_OLD" "MONGODB_URL" "REDIS_URL" "AWS_SECRET_ACCESS_KEY" }}
{{- if or (has . $others) (regexMatch "_(KEY|SECRET|TOKEN|PASSWORD)$" .) }}true{{ end }}
{{- end }}

{{/* The keys of the Secret that a part gets, as JSON. */}}
{{- define "parley.secretKeys" -}}
{{- $values := .root.Values }}
{{- $keys := list "WORKER_TOKEN" }}
{{- if ne $values.sip.mode "none" }}
{{- $keys = append $keys "DRACHTIO_SECRET" }}
{{- end }}
{{- if eq .part "control-plane" }}
{{- $keys = concat $keys (list "ROOT_API_KEY" "MASTER_KEY") $values.controlPlane.secretKeys $values.secrets.keys }}
{{- if $values.livekit.url }}
{{- $keys = concat $keys (list "LIVEKIT_API_KEY" "LIVEKIT_API_SECRET") }}
{{- end }}
{{- if $values.metrics.enabled }}
{{- $keys = append $keys "METRICS_TOKEN" }}
{{- end }}
{{- else if eq .part "worker" }}
{{- $keys = concat $keys $values.worker.secretKeys $values.secrets.keys }}
{{- end }}
{{- $keys | uniq | sortAlpha | toJson }}
{{- end }}

{{/* Whether a setting of all parts concerns one: a part refuses settings whose counterparts it does not get. */}}
{{- define "parley.concerns" -}}
{{- if eq .part "signalling" }}
{{- if regexMatch "^(SIP|LOG|OTEL|NODE)_" .name }}yes{{ end }}
{{- else if not (and (eq .part "worker") (hasPrefix "LIVEKIT_" .name)) }}yes{{ end }}
{{- end }}

{{/* A value as text: whole numbers without an exponent. */}}
{{- define "parley.text" -}}
{{- if and (kindIs "float64" .) (eq . (floor .)) }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{/*
Environment variables of a part: `own` (set by the chart), then those of `env` and of the part's `env`, then
its secrets.
*/}}
{{- define "parley.env" -}}
{{- $given := dict }}
{{- $part := .part }}
{{- range $name, $value := .root.Values.env }}
{{- if include "parley.concerns" (dict "part" $part "name" $name) }}
{{- $_ := set $given $name $value }}
{{- end }}
{{- end }}
{{- range $name, $value := .env }}
{{- $_ := set $given $name $value }}
{{- end }}
{{- range $name, $value := .own }}
{{- if ne (toString $value) "" }}
- name: {{ $name }}
  value: {{ include "parley.text" $value | quote }}
{{- end }}
{{- end }}
{{- range $name, $value := $given }}
- name: {{ $name }}
  value: {{ include "parley.text" $value | quote }}
{{- end }}
{{- $root := .root }}
{{- range include "parley.secretKeys" . | fromJsonArray }}
{{- if include "parley.isFileSetting" . }}
- name: {{ . }}_FILE
  value: /run/parley/secrets/{{ . }}
{{- else }}
- name: {{ . }}
  valueFrom:
    secretKeyRef: { name: {{ $root.Values.secrets.existingSecret }}, key: {{ . }} }
{{- end }}
{{- end }}
{{- end }}

{{/* The volume with the part's secrets; only the keys it needs. */}}
{{- define "parley.secretVolume" -}}
- name: secrets
  secret:
    secretName: {{ .root.Values.secrets.existingSecret }}
    defaultMode: 288 # 0440
    items:
      {{- range include "parley.secretKeys" . | fromJsonArray }}
      {{- if include "parley.isFileSetting" . }}
      - { key: {{ . }}, path: {{ . }} }
      {{- end }}
      {{- end }}
{{- end }}

{{/* Settings of parts on nodes: start.sh reads those named CHART_. `isPublic`: peers outside send to the part. */}}
{{- define "parley.nodeEnv" -}}
- name: CHART_ADDRESS
  valueFrom: { fieldRef: { fieldPath: status.podIP } }
{{- if and .isPublic .root.Values.network.publicIps }}
- name: CHART_NODE
  valueFrom: { fieldRef: { fieldPath: spec.nodeName } }
- name: CHART_PUBLIC_IPS
  value: {{ include "parley.publicIps" .root | quote }}
{{- end }}
{{- end }}

{{/* "true" if phones or browsers send media to the addresses of workers, not to relays or a LiveKit server. */}}
{{- define "parley.workersArePublic" -}}
{{- $hasPhones := and (ne .Values.sip.mode "none") (not (include "parley.relays" .)) }}
{{- if and .Values.worker.hostNetwork (or $hasPhones (not .Values.livekit.url)) }}true{{ end }}
{{- end }}

{{- define "parley.publicIps" -}}
{{- $entries := list }}
{{- range $node, $address := .Values.network.publicIps }}
{{- $entries = append $entries (printf "%s=%s" $node $address) }}
{{- end }}
{{- join " " $entries }}
{{- end }}

{{/* The address of the health port: Prometheus reaches it only if it is that of the pod. */}}
{{- define "parley.healthHost" -}}
- name: HEALTH_HOST
{{- if or .root.Values.metrics.enabled (not .hostNetwork) }}
  valueFrom: { fieldRef: { fieldPath: status.podIP } }
{{- else }}
  value: 127.0.0.1
{{- end }}
{{- end }}
