{{/* What the pods of all parts have in common. */}}

{{/* `values` are those of the part. */}}
{{- define "parley.podCommon" -}}
serviceAccountName: {{ include "parley.fullname" .root }}
automountServiceAccountToken: false
# A Service named after a program sets variables such as DRACHTIO_PORT.
enableServiceLinks: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "parley.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "parley.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* On the host's network: the node's addresses and ports, and still the cluster's names. */}}
{{- define "parley.hostNetwork" -}}
hostNetwork: true
dnsPolicy: ClusterFirstWithHostNet
{{- end }}

{{/* Never two pods of this part on a node. */}}
{{- define "parley.onePerNode" -}}
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels: {{ include "parley.selector" . | nindent 12 }}
{{- end }}

{{- define "parley.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{ include "parley.selector" . | nindent 8 }}
{{- end }}

{{/*
Probes of the health port. Before a hung process is restarted it is not asked to drain, which would take as
long as the longest call.
*/}}
{{- define "parley.healthProbes" -}}
startupProbe:
  {{- include "parley.healthRequest" (set (deepCopy .request) "path" "/healthz") | nindent 2 }}
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: 60
livenessProbe:
  {{- include "parley.healthRequest" (set (deepCopy .request) "path" "/healthz") | nindent 2 }}
  periodSeconds: 5
  timeoutSeconds: 3
  failureThreshold: 3
  terminationGracePeriodSeconds: 5
readinessProbe:
  {{- include "parley.healthRequest" (set (deepCopy .request) "path" "/readyz") | nindent 2 }}
  periodSeconds: 3
  timeoutSeconds: 3
  failureThreshold: 2
{{- end }}

{{/* `script`: the port depends on the pod's number. Otherwise `port`, on the loopback if `isLoopback`. */}}
{{- define "parley.healthRequest" -}}
{{- if .script -}}
exec: { command: [bash, /etc/parley/health.sh, {{ .path }}] }
{{- else -}}
httpGet:
  path: {{ .path }}
  port: {{ int .port }}
  {{- if .isLoopback }}
  host: 127.0.0.1
  {{- end }}
{{- end }}
{{- end }}

{{- define "parley.scriptsVolume" -}}
- name: scripts
  configMap: { name: {{ include "parley.fullname" . }}-scripts }
{{- end }}

{{/* Changed scripts or settings of another part's making start new pods. */}}
{{- define "parley.scriptsChecksum" -}}
{{- .Files.Glob "files/*.sh" | toYaml | sha256sum }}
{{- end }}

{{- define "parley.volumeClaim" -}}
accessModes: [ReadWriteOnce]
{{- with .storageClass }}
storageClassName: {{ . }}
{{- end }}
resources: { requests: { storage: {{ .size }} } }
{{- end }}

{{/* `component` may lose one pod at a time; ones that are not ready do not keep a node from being emptied. */}}
{{- define "parley.disruptionBudget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "parley.fullname" .root }}-{{ .part }}
  labels: {{ include "parley.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels: {{ include "parley.selector" . | nindent 6 }}
{{- end }}
