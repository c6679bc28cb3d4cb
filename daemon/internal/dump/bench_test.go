package dump_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/dump"
)

// BenchmarkRead reads 1,000 pods as kubectl writes them, as JSON and as YAML.
func BenchmarkRead(b *testing.B) {
	asJSON, asYAML := benchmarkLists(b, 1000)
	for _, form := range []struct{ name, text string }{{"json", asJSON}, {"yaml", asYAML}} {
		b.Run(form.name, func(b *testing.B) {
			b.SetBytes(int64(len(form.text)))
			b.ReportAllocs()
			for b.Loop() {
				pods := 0
				found := dump.Found{Objects: func(int, metav1.Object) { pods++ }}
				if err := found.ReadText("f", form.text); err != nil || pods != 1000 {
					b.Fatalf("%d pods: %v", pods, err)
				}
			}
		})
	}
}

// benchmarkLists is a List of pods as "kubectl get" writes it, as JSON and as YAML.
func benchmarkLists(b *testing.B, pods int) (asJSON, asYAML string) {
	b.Helper()
	var inJSON, inYAML strings.Builder
	inJSON.WriteString("{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n        ")
	inYAML.WriteString("apiVersion: v1\nitems:\n")
	for i := range pods {
		one := benchmarkPod(i)
		text, err := yaml.YAMLToJSON([]byte(one))
		if err != nil {
			b.Fatal(err)
		}
		if i > 0 {
			inJSON.WriteString(",\n        ")
		}
		inJSON.WriteString(indented(b, text))
		inYAML.WriteString("- " + strings.ReplaceAll(strings.TrimSpace(one), "\n", "\n  ") + "\n")
	}
	inJSON.WriteString("\n    ],\n    \"kind\": \"List\",\n    \"metadata\": {\n        \"resourceVersion\": \"\"\n    }\n}\n")
	inYAML.WriteString("kind: List\nmetadata:\n  resourceVersion: \"\"\n")
	return inJSON.String(), inYAML.String()
}

// indented is an item as kubectl indents it.
func indented(b *testing.B, text []byte) string {
	b.Helper()
	var out bytes.Buffer
	if err := json.Indent(&out, text, "        ", "    "); err != nil {
		b.Fatal(err)
	}
	return out.String()
}

// benchmarkPod is a pod as YAML: one container of a Deployment with its probes, volumes,
// environment and status: 12 KB as JSON that is indented, 5 KB as YAML.
func benchmarkPod(i int) string {
	var env strings.Builder
	for v := range 4 {
		fmt.Fprintf(&env, "    - name: SETTING_NUMBER_%d\n      value: value-of-the-setting-%d-of-pod-%d\n", v, v, i)
	}
	var conditions strings.Builder
	for _, name := range []string{"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		fmt.Fprintf(&conditions, "  - lastProbeTime: null\n    lastTransitionTime: \"2025-03-01T10:00:00Z\"\n    status: \"True\"\n    type: %s\n", name)
	}
	id := fmt.Sprintf("%08x", i*2654435761%(1<<32))
	return strings.NewReplacer("ID", id, "ENV", env.String(), "CONDITIONS", conditions.String(), "NUMBER", fmt.Sprint(i%250)).Replace(`apiVersion: v1
kind: Pod
metadata:
  annotations:
    checksum/config: 3f79bb7b435b05321651daefd374cdc681dc06faa65e374e38337b88ca046dea
    kubectl.kubernetes.io/restartedAt: "2025-02-28T12:00:00Z"
    prometheus.io/scrape: "true"
  creationTimestamp: "2025-03-01T10:00:00Z"
  generateName: web-7d4b9c6f5d-
  labels:
    app.kubernetes.io/component: server
    app.kubernetes.io/instance: web
    app.kubernetes.io/managed-by: Helm
    app.kubernetes.io/name: web
    app.kubernetes.io/version: 1.27.3
    pod-template-hash: 7d4b9c6f5d
  name: web-7d4b9c6f5d-ID
  namespace: shop
  ownerReferences:
  - apiVersion: apps/v1
    blockOwnerDeletion: true
    controller: true
    kind: ReplicaSet
    name: web-7d4b9c6f5d
    uid: 0b7a3f0e-5c3f-4a64-9f0b-1d2c3b4a5e6f
  resourceVersion: "123456789"
  uid: ID-1234-4321-8888-0123456789ab
spec:
  affinity:
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
      - podAffinityTerm:
          labelSelector:
            matchLabels:
              app.kubernetes.io/name: web
          topologyKey: kubernetes.io/hostname
        weight: 100
  containers:
  - args:
    - --listen=0.0.0.0:8080
    - --log-format=json
    env:
ENV    - name: POD_NAME
      valueFrom:
        fieldRef:
          apiVersion: v1
          fieldPath: metadata.name
    image: 123456789012.dkr.ecr.eu-west-1.amazonaws.com/shop/web:1.27.3
    imagePullPolicy: IfNotPresent
    livenessProbe:
      failureThreshold: 3
      httpGet:
        path: /healthz
        port: http
        scheme: HTTP
      periodSeconds: 10
      successThreshold: 1
      timeoutSeconds: 1
    name: web
    ports:
    - containerPort: 8080
      name: http
      protocol: TCP
    resources:
      limits:
        memory: 512Mi
      requests:
        cpu: 250m
        memory: 512Mi
    securityContext:
      allowPrivilegeEscalation: false
      capabilities:
        drop:
        - ALL
      readOnlyRootFilesystem: true
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
    volumeMounts:
    - mountPath: /etc/web
      name: config
      readOnly: true
    - mountPath: /var/run/secrets/kubernetes.io/serviceaccount
      name: kube-api-access-x7x7x
      readOnly: true
  dnsPolicy: ClusterFirst
  nodeName: ip-10-0-1-NUMBER.eu-west-1.compute.internal
  preemptionPolicy: PreemptLowerPriority
  priority: 0
  restartPolicy: Always
  schedulerName: default-scheduler
  securityContext:
    fsGroup: 65532
    runAsNonRoot: true
  serviceAccountName: web
  terminationGracePeriodSeconds: 30
  tolerations:
  - effect: NoExecute
    key: node.kubernetes.io/not-ready
    operator: Exists
    tolerationSeconds: 300
  - effect: NoExecute
    key: node.kubernetes.io/unreachable
    operator: Exists
    tolerationSeconds: 300
  topologySpreadConstraints:
  - labelSelector:
      matchLabels:
        app.kubernetes.io/name: web
    maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
  volumes:
  - configMap:
      defaultMode: 420
      name: web-config
    name: config
  - name: kube-api-access-x7x7x
    projected:
      defaultMode: 420
      sources:
      - serviceAccountToken:
          expirationSeconds: 3607
          path: token
      - configMap:
          items:
          - key: ca.crt
            path: ca.crt
          name: kube-root-ca.crt
status:
  conditions:
CONDITIONS  containerStatuses:
  - containerID: containerd://ID3f79bb7b435b05321651daefd374cdc681dc06faa65e374e38337b88
    image: 123456789012.dkr.ecr.eu-west-1.amazonaws.com/shop/web:1.27.3
    imageID: 123456789012.dkr.ecr.eu-west-1.amazonaws.com/shop/web@sha256:3f79bb7b435b05321651daefd374cdc681dc06faa65e374e38337b88ca046dea
    lastState: {}
    name: web
    ready: true
    restartCount: 0
    started: true
    state:
      running:
        startedAt: "2025-03-01T10:00:05Z"
  hostIP: 10.0.1.NUMBER
  phase: Running
  podIP: 10.0.2.NUMBER
  podIPs:
  - ip: 10.0.2.NUMBER
  qosClass: Burstable
  startTime: "2025-03-01T10:00:00Z"
`)
}
