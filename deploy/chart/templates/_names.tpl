{{/* Names and labels. Most helpers take a dict: root ($), part (control-plane, worker, signalling, relay). */}}

{{- define "parley.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "parley.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains (include "parley.name" .) .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "parley.name" .) | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "parley.selector" -}}
app.kubernetes.io/name: {{ include "parley.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- define "parley.labels" -}}
{{ include "parley.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name (.root.Chart.Version | replace "+" "_") }}
{{- end }}

{{- define "parley.image" -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}

{{/* http, or https if the control planes have a certificate. */}}
{{- define "parley.scheme" -}}
{{- ternary "https" "http" (ne .Values.controlPlane.tlsSecret "") }}
{{- end }}

{{/* Where calls arrive: a comma list of host:port, one for each signalling process; empty without phone calls. */}}
{{- define "parley.sipServers" -}}
{{- $name := printf "%s-signalling" (include "parley.fullname" .) }}
{{- if eq .Values.sip.mode "external" }}
{{- join "," .Values.sip.servers }}
{{- else if eq .Values.sip.mode "embedded" }}
{{- $servers := list }}
{{- range until (int .Values.signalling.replicas) }}
{{- $servers = append $servers (printf "%s-%d.%s.%s.svc:%d" $name . $name $.Release.Namespace (int $.Values.sip.workerPort)) }}
{{- end }}
{{- join "," $servers }}
{{- end }}
{{- end }}

{{/* The control addresses of all relays: a comma list of host:port. */}}
{{- define "parley.relays" -}}
{{- $name := printf "%s-relay" (include "parley.fullname" .) }}
{{- $relays := .Values.relay.external }}
{{- if .Values.relay.enabled }}
{{- range until (int .Values.relay.replicas) }}
{{- $relays = append $relays (printf "%s-%d.%s.%s.svc:%d" $name . $name $.Release.Namespace (int $.Values.relay.controlPort)) }}
{{- end }}
{{- end }}
{{- join "," $relays }}
{{- end }}

{{/*
The number of workers. With autoscaling, that of the running release: Kubernetes would end all workers but one
if the number was left out, and those that were added if it was the one of the start.
*/}}
{{- define "parley.workers" -}}
{{- $scaling := .Values.worker.autoscaling }}
{{- if $scaling.enabled }}
{{- $running := lookup "apps/v1" "StatefulSet" .Release.Namespace (printf "%s-worker" (include "parley.fullname" .)) }}
{{- $start := min (int $scaling.maxReplicas) (max (int $scaling.minReplicas) (int .Values.worker.replicas)) }}
{{- if $running }}{{ int $running.spec.replicas }}{{ else }}{{ $start }}{{ end }}
{{- else }}
{{- int .Values.worker.replicas }}
{{- end }}
{{- end }}

{{/* Workers on one node have ports of their own. */}}
{{- define "parley.workersShareNodes" -}}
{{- if and .Values.worker.hostNetwork (not .Values.worker.onePerNode) }}true{{ end }}
{{- end }}
