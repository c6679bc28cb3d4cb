package kube

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	// ErrNotFound says that the object does not exist.
	ErrNotFound = errors.New("not found")
	// ErrKindNotServed says that the API server does not serve the object's kind: its CustomResourceDefinition is not installed. It wraps ErrNotFound.
	ErrKindNotServed = fmt.Errorf("kind is not served by the cluster: %w", ErrNotFound)
	// ErrAccess says that an Access cannot be used: a file is missing or wrong, or has no such context, user or cluster.
	ErrAccess = errors.New("kubernetes access")
	// ErrExists says that an object of that name exists already.
	ErrExists = errors.New("already exists")
	// errNoParts says that a value of JSON is read whole.
	errNoParts = errors.New("value has no parts")
	// errNoFinalizers says that a JSON patch is none of SetFinalizers.
	errNoFinalizers = errors.New("it sets no finalizers")
	// ErrMayNotNominate says that the API server does not let this client nominate pods for nodes.
	ErrMayNotNominate = errors.New("not allowed to patch pods/status: give the daemon's service account its ClusterRole (the karpenter_daemon resource does)")
	// ErrMayNotBind says that the API server does not let this client bind pods to nodes.
	ErrMayNotBind = errors.New("not allowed to create pods/binding: give the daemon's service account its ClusterRole (the karpenter_daemon resource does); the daemon checks every 30 seconds whether it may bind")
	// ErrLeadershipLost says that another replica has the Lease, or that the Lease could not be renewed in time.
	ErrLeadershipLost = errors.New("leadership lost")
)

// FieldConflict is one field that another manager owns.
type FieldConflict struct {
	Manager string // e.g. kubectl-client-side-apply
	Path    string // e.g. .spec.weight
}

// ConflictError says that an apply would change fields that other managers own.
type ConflictError struct {
	Object Ref
	Fields []FieldConflict
}

func (e *ConflictError) Error() string {
	parts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		parts[i] = fmt.Sprintf("%s is owned by %q", f.Path, f.Manager)
	}
	return fmt.Sprintf("%s apply: conflict: %s", e.Object, strings.Join(parts, ", "))
}

// NotReadyError says what an object looked like at the end of a wait.
type NotReadyError struct {
	Object     Ref
	Why        string   // what was missing
	Conditions []string // Type=Status Reason: message
	Trouble
	Removal bool  // the wait was for the object to be gone
	Err     error // that of the context, with the last error of the API server
}

func (e *NotReadyError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s wait: %s", e.Object, e.Why)
	b.WriteString(section("conditions", e.Conditions))
	b.WriteString(e.Trouble.String())
	return b.String()
}

func section(title string, lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return fmt.Sprintf("\n%s:\n  %s", title, strings.Join(lines, "\n  "))
}

// Unwrap returns the error that ended the wait.
func (e *NotReadyError) Unwrap() error { return e.Err }

// wrap turns an API error into one of this package, with the object and the verb.
func wrap(err error, verb string, ref Ref) error {
	switch {
	case err == nil:
		return nil
	case notServed(err):
		return fmt.Errorf("%s %s: %w", ref, verb, ErrKindNotServed)
	case apierrors.IsAlreadyExists(err):
		return fmt.Errorf("%s %s: %w", ref, verb, ErrExists)
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s %s: %w", ref, verb, errors.Join(ErrNotFound, err))
	}
	if conflict := asConflict(err, ref); conflict != nil {
		return conflict
	}
	return fmt.Errorf("%s %s: %w", ref, verb, err)
}

// notServed reports whether the server does not know the kind; an object that does not
// exist is another error. The mapper refuses an unknown kind. If the mapper knows a kind
// before the server does, the server answers with a 404 that no resource handler wrote.
func notServed(err error) bool {
	return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

func asConflict(err error, ref Ref) *ConflictError {
	var status apierrors.APIStatus
	if !apierrors.IsConflict(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	conflict := &ConflictError{Object: ref}
	for _, cause := range status.Status().Details.Causes {
		if cause.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		// The message is: conflict with "manager" [with subresource "s"] using group/version ...
		manager := cause.Message
		if parts := strings.SplitN(cause.Message, `"`, 3); len(parts) == 3 {
			manager = parts[1]
		}
		conflict.Fields = append(conflict.Fields, FieldConflict{Manager: manager, Path: cause.Field})
	}
	if len(conflict.Fields) == 0 {
		return nil
	}
	return conflict
}

// unlessGone turns ErrNotFound into success: the object is already deleted.
func unlessGone(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
