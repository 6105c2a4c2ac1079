{{- define "minercdc.fullname" -}}
{{- default .Release.Name .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "minercdc.secretName" -}}
^(?i:.*(secret|password|sasl\.jaas\.config|basic\.auth\.user\.info|credentials\.json|connection\.?string|token|\.pem|ssl\.keystore\.key|secret\.key|private\.key|account\.key\..*|\.sas\..*|webhook\.(authorization|url)))$
{{- end -}}

{{/* Of a component: (dict "root" $ "component" "connector"). They never change, as a StatefulSet's cannot. */}}
{{- define "minercdc.selector" -}}
app.kubernetes.io/name: minercdc
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "minercdc.labels" -}}
{{ include "minercdc.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "minercdc.image" -}}
{{ .image.repository }}:{{ default .root.Chart.AppVersion .image.tag }}
{{- end -}}

{{- define "minercdc.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{ default (include "minercdc.fullname" .) .Values.serviceAccount.name }}
{{- else -}}
{{ .Values.serviceAccount.name }}
{{- end -}}
{{- end -}}

{{/* What does not fit together is refused here, with what to do. */}}
{{- define "minercdc.check" -}}
{{- $config := default dict .Values.config -}}
{{- range $name, $values := dict "minercdc.http.host" "nothing" "minercdc.http.port" "http.port" "minercdc.http.token" "http.existingSecret" "minercdc.state.dir" "nothing" "minercdc.lake.http.host" "nothing" "minercdc.lake.http.port" "lake.metricsPort" -}}
{{- if hasKey $config $name -}}
{{- fail (printf "config: the chart sets %s; leave it out, and set %s" $name $values) -}}
{{- end -}}
{{- end -}}
{{- range $name, $value := $config -}}
{{- $text := toString $value -}}
{{- if and (regexMatch (include "minercdc.secretName" $) $name) $text (not (contains "${" $text)) -}}
{{- fail (printf "config: %s would stand in a ConfigMap in plain text; put it into a Secret, make that a variable by extraEnv, and write ${env:NAME}" $name) -}}
{{- end -}}
{{- if regexMatch "://[^/@:]*:[^/@$]+@" $text -}}
{{- fail (printf "config: %s has a password in its URL, which would stand in a ConfigMap; put it into a Secret, make that a variable by extraEnv, and write ${env:NAME}" $name) -}}
{{- end -}}
{{- end -}}
{{- if not (or .Values.database.existingSecret (hasKey $config "database.password") (hasKey $config "minercdc.database.token.location")) -}}
{{- fail "database.existingSecret: name the Secret that has the database user's password" -}}
{{- end -}}
{{- if and .Values.database.existingSecret (hasKey $config "database.password") -}}
{{- fail "config: leave database.password out, the Secret of database.existingSecret has it" -}}
{{- end -}}
{{- if .Values.connector.enabled -}}
{{- $transactional := ne (toString (get $config "minercdc.kafka.transactional")) "false" -}}
{{- $kafka := eq (default "kafka" (get $config "debezium.sink.type")) "kafka" -}}
{{- if and .Values.connector.standby (not (and $transactional $kafka)) -}}
{{- fail "connector.standby: without Kafka transactions there are no standbys; set connector.standby to false and connector.replicas to 1" -}}
{{- end -}}
{{- if and (not .Values.connector.standby) (gt (int .Values.connector.replicas) 1) -}}
{{- fail "connector.replicas: without connector.standby only one pod may run" -}}
{{- end -}}
{{- end -}}
{{- if .Values.lake.enabled -}}
{{- if and (eq .Values.lake.kind "SparkApplication") (not .Values.lake.spark.image) -}}
{{- fail "lake.spark.image: name an image with Spark's entry point and minercdc[lake] (docs/kubernetes.md)" -}}
{{- end -}}
{{- if and (not (hasKey $config "minercdc.lake.path")) (or (eq .Values.lake.kind "SparkApplication") (not .Values.lake.persistence.enabled)) -}}
{{- fail "config: minercdc.lake.path is needed where the lake has no volume, for example s3a://bucket/lake" -}}
{{- end -}}
{{- if and (hasKey $config "minercdc.lake.path") (eq .Values.lake.kind "Deployment") .Values.lake.persistence.enabled -}}
{{- fail "config: minercdc.lake.path is that of the volume; leave it out, or set lake.persistence.enabled to false" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The configuration file. Values of `config` keep their YAML types. */}}
{{- define "minercdc.config" -}}
{{- include "minercdc.check" . -}}
{{- $given := default dict .Values.config -}}
{{- $own := dict "name" .Release.Name "minercdc.log.format" "json" -}}
{{- $_ := set $own "topic.prefix" (default .Release.Name (get $given "name")) -}}
{{- if .Values.database.existingSecret -}}
{{- $_ := set $own "database.password" "${env:DATABASE_PASSWORD}" -}}
{{- end -}}
{{- $_ := set $own "minercdc.http.host" "0.0.0.0" -}}
{{- $_ := set $own "minercdc.http.port" (int .Values.http.port) -}}
{{- if .Values.http.existingSecret -}}
{{- $_ := set $own "minercdc.http.token" "${env:HTTP_TOKEN}" -}}
{{- end -}}
{{- $_ := set $own "minercdc.state.dir" "/var/lib/minercdc" -}}
{{- if .Values.lake.enabled -}}
{{- $_ := set $own "minercdc.lake.http.host" "0.0.0.0" -}}
{{- $_ := set $own "minercdc.lake.http.port" (int .Values.lake.metricsPort) -}}
{{- if not (hasKey $given "minercdc.lake.path") -}}
{{- $_ := set $own "minercdc.lake.path" "/var/lib/lake" -}}
{{- end -}}
{{- end -}}
{{ toYaml (merge (deepCopy $given) $own) }}
{{- end -}}

{{- define "minercdc.env" -}}
{{- if .Values.database.existingSecret }}
- name: DATABASE_PASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ .Values.database.existingSecret }}
      key: {{ .Values.database.passwordKey }}
{{- end }}
{{- if .Values.http.existingSecret }}
- name: HTTP_TOKEN
  valueFrom:
    secretKeyRef:
      name: {{ .Values.http.existingSecret }}
      key: {{ .Values.http.tokenKey }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* What every pod has, beside its containers and volumes: (dict "root" $ "part" .Values.connector). */}}
{{- define "minercdc.pod" -}}
terminationGracePeriodSeconds: {{ .part.terminationGracePeriodSeconds }}
automountServiceAccountToken: false
{{- with include "minercdc.serviceAccountName" .root }}
serviceAccountName: {{ . }}
{{- end }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
securityContext:
  {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
{{- with .part.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .part.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* A change of the configuration starts the pods again. */}}
{{- define "minercdc.annotations" -}}
checksum/config: {{ include "minercdc.config" .root | sha256sum }}
{{- if not .root.Values.serviceMonitor.enabled }}
prometheus.io/scrape: "true"
prometheus.io/port: {{ .port | quote }}
{{- end }}
{{- with .part.podAnnotations }}
{{ toYaml . }}
{{- end }}
{{- end -}}
