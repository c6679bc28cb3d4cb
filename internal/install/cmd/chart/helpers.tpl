{{- /* [[ .Generated ]] */}}

{{- /* The image: tag and digest of the values together, else those of this release. */}}
{{- define "karpenterd.image" -}}
{{- $image := .Values.controller.image -}}
{{- $image.repository -}}
{{- if or $image.tag $image.digest -}}
{{- with $image.tag }}:{{ . }}{{ end -}}
{{- with $image.digest }}@{{ . }}{{ end -}}
{{- else -}}
[[- if .Release ]]
{{- "[[ .Release ]]" -}}
[[- else ]]
{{- fail "controller.image: this chart is no release, so it names no image: build and push one with make image, and set controller.image.repository, and controller.image.digest or controller.image.tag" -}}
[[- end ]]
{{- end -}}
{{- end -}}

{{- /* The name of the service account. That of Karpenter has all its rights. */}}
{{- define "karpenterd.account" -}}
{{- if and (eq .Values.mode "[[ .Shadow ]]") (eq .Values.serviceAccount.name "[[ .Account ]]") -}}
{{- fail "serviceAccount.name: \"[[ .Account ]]\": is that of Karpenter in most clusters, with all its rights: give a shadow one of its own, such as [[ .ShadowName ]]" -}}
{{- end -}}
{{- .Values.serviceAccount.name -}}
{{- end -}}

{{- /* The priority class of the pods. A shadow displaces nobody, unless the user has chosen so. */}}
{{- define "karpenterd.priorityClass" -}}
{{- if not (and (eq .Values.mode "[[ .Shadow ]]") (eq .Values.priorityClassName "[[ .PriorityClass ]]")) -}}
{{- .Values.priorityClassName -}}
{{- end -}}
{{- end -}}

{{- /* The annotations of the service account as JSON; nothing if there are none. */}}
{{- define "karpenterd.accountAnnotations" -}}
{{- $annotations := deepCopy (.Values.additionalAnnotations | default dict) -}}
{{- with .Values.serviceAccount.roleARN -}}
{{- $_ := set $annotations "[[ .RoleARN ]]" . -}}
{{- end -}}
{{- if $annotations -}}
{{- toJson $annotations -}}
{{- end -}}
{{- end -}}

{{- /* What pods read of the service account only when they are made. Another checksum replaces them. */}}
{{- define "karpenterd.checksum" -}}
{{- printf "[%s,%s]" (toJson .Values.serviceAccount.name) (include "karpenterd.accountAnnotations" . | default "null") | sha256sum | trunc 16 -}}
{{- end -}}

{{- /* The affinity of the values, with the rule that keeps the daemon off the nodes that it may delete in each
node selector term, because terms are alternatives. */}}
{{- define "karpenterd.affinity" -}}
{{- $affinity := deepCopy (.Values.affinity | default dict) -}}
{{- if ne .Values.mode "[[ .Shadow ]]" -}}
{{- $node := $affinity.nodeAffinity | default dict -}}
{{- $required := $node.requiredDuringSchedulingIgnoredDuringExecution | default dict -}}
{{- $off := fromJson `[[ .OffOwnNodes ]]` -}}
{{- $terms := list -}}
{{- range $required.nodeSelectorTerms | default (list dict) -}}
{{- $terms = append $terms (set . "matchExpressions" (append (.matchExpressions | default list) $off)) -}}
{{- end -}}
{{- $_ := set $required "nodeSelectorTerms" $terms -}}
{{- $_ := set $node "requiredDuringSchedulingIgnoredDuringExecution" $required -}}
{{- $_ := set $affinity "nodeAffinity" $node -}}
{{- end -}}
{{- if and (kindIs "invalid" $affinity.podAntiAffinity) (gt (int .Values.replicas) 1) -}}
{{- $_ := set $affinity "podAntiAffinity" (fromJson `[[ .DifferentNodes ]]`) -}}
{{- end -}}
{{- toYaml $affinity -}}
{{- end -}}
