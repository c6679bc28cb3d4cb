package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
)

// What the pod identity webhook of EKS injects, by its README: the names, the
// audience, the lifetime and the mount path.
const (
	RoleAnnotation = "eks.amazonaws.com/role-arn"
	tokenVolume    = "aws-iam-token"                                     //nolint:gosec // a name, not a credential
	tokenDir       = "/var/run/secrets/eks.amazonaws.com/serviceaccount" //nolint:gosec // a path, not a credential
	tokenAudience  = "sts.amazonaws.com"                                 //nolint:gosec // an audience, not a credential
	tokenSeconds   = int64(86400)
)

// patchOp is one operation of a JSON patch (RFC 6902).
type patchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

func (s *Server) mutatePod(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 8<<20)).Decode(&review)
	if err != nil || review.Request == nil {
		http.Error(w, fmt.Sprintf("admission review decode: %v", err), http.StatusBadRequest)
		return
	}
	response := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	patch, err := s.podPatch(r.Context(), review.Request.Namespace, review.Request.Object.Raw)
	switch {
	case err != nil: // EKS's webhook never keeps a pod out
		s.options.Logger.Warn("pod identity not injected", "namespace", review.Request.Namespace, "error", err)
	case patch != nil:
		kind := admissionv1.PatchTypeJSONPatch
		response.Patch, response.PatchType = patch, &kind
	}
	review.Request, review.Response = nil, response
	answer(w, review)
}

// podPatch is the JSON patch for a pod, nil where it needs none.
func (s *Server) podPatch(ctx context.Context, namespace string, raw []byte) ([]byte, error) {
	var pod corev1.Pod
	if err := json.Unmarshal(raw, &pod); err != nil {
		return nil, fmt.Errorf("pod decode: %w", err)
	}
	account := pod.Spec.ServiceAccountName
	if account == "" {
		account = "default"
	}
	roles, ok := s.roles.Load().(roleHolder)
	if !ok {
		return nil, nil
	}
	role, err := roles.RoleARN(ctx, namespace, account)
	if err != nil {
		return nil, fmt.Errorf("service account %s/%s read: %w", namespace, account, err)
	}
	if role == "" {
		return nil, nil
	}
	inject(&pod.Spec, role, s.options.Region)
	ops := []patchOp{
		{"add", "/spec/volumes", pod.Spec.Volumes}, // "add" replaces what is there
		{"add", "/spec/containers", pod.Spec.Containers},
	}
	if len(pod.Spec.InitContainers) > 0 {
		ops = append(ops, patchOp{"add", "/spec/initContainers", pod.Spec.InitContainers})
	}
	return json.Marshal(ops)
}

// inject gives every container the role's environment and token. What the pod
// sets itself stays.
func inject(spec *corev1.PodSpec, role, region string) {
	if !slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == tokenVolume }) {
		seconds := tokenSeconds
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: tokenVolume, VolumeSource: corev1.VolumeSource{
			Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{
				ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: tokenAudience, ExpirationSeconds: &seconds, Path: "token"},
			}}},
		}})
	}
	env := []corev1.EnvVar{
		{Name: "AWS_STS_REGIONAL_ENDPOINTS", Value: "regional"},
		{Name: "AWS_DEFAULT_REGION", Value: region},
		{Name: "AWS_REGION", Value: region},
		{Name: "AWS_ROLE_ARN", Value: role},
		{Name: "AWS_WEB_IDENTITY_TOKEN_FILE", Value: tokenDir + "/token"},
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			c := &containers[i]
			for _, e := range env {
				if !slices.ContainsFunc(c.Env, func(have corev1.EnvVar) bool { return have.Name == e.Name }) {
					c.Env = append(c.Env, e)
				}
			}
			if !slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == tokenVolume }) {
				c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: tokenVolume, MountPath: tokenDir, ReadOnly: true})
			}
		}
	}
}
