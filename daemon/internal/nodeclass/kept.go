package nodeclass

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// How long answers count that seldom change. A class that somebody edits is resolved anew at
// once, whatever is kept. Karpenter keeps parameters of AWS for 24 hours and looks every 30
// minutes whether their images are deprecated, those of users for 5 minutes, and instance
// profiles for 15. Here profiles count for less: see profileLasts.
const (
	// publicLasts is for parameters in which AWS names its images.
	publicLasts = 30 * time.Minute
	// parameterLasts is for parameters that somebody else writes, to have new nodes get an image,
	// and for parameters of AWS that do not exist yet.
	parameterLasts = 5 * time.Minute
	// profileLasts is for the instance profile of a class's role. EC2's word that it cannot
	// launch with the profile ends it. Terraform may delete the role and make it again, which
	// empties the profile: nodes launched before somebody looks have no rights. 12 calls an hour
	// for each class are few for IAM.
	profileLasts = 5 * time.Minute
)

// answers is what AWS has said about parameters and instance profiles. The zero value is ready.
type answers struct {
	mu         sync.Mutex
	parameters map[string]parameterAnswer // by name
	editions   map[string]string          // that were resolved, by class
	profiles   map[string]profileAnswer   // by class
}

type parameterAnswer struct {
	at    time.Time
	value string // empty: there is no such parameter
}

// lasts is how long the answer counts.
func (a parameterAnswer) lasts(name string) time.Duration {
	public := strings.HasPrefix(name, awsspec.PublicParameters)
	switch {
	case public && a.value != "":
		return publicLasts
	case public, a.value != "":
		return parameterLasts
	}
	return 0 // somebody may be about to write it
}

type profileAnswer struct {
	edition string
	at      time.Time
	profile aws.InstanceProfile
}

// editionOf changes with what people write on a class, and with nothing else.
func editionOf(class *awsv1.EC2NodeClass) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d", class.UID, class.Generation)
	for _, key := range slices.Sorted(maps.Keys(class.Annotations)) {
		fmt.Fprintf(&b, " %q=%q", key, class.Annotations[key])
	}
	return b.String()
}

// since is how old an answer may be for the class: one that has been edited takes none from
// before that.
func (a *answers) since(class *awsv1.EC2NodeClass, now time.Time) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.editions[class.Name] == editionOf(class) {
		return time.Time{}
	}
	return now.Add(-sharedFor)
}

// resolved notes that all of the class has been resolved.
func (a *answers) resolved(class *awsv1.EC2NodeClass) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.editions == nil {
		a.editions = map[string]string{}
	}
	a.editions[class.Name] = editionOf(class)
}

// forget drops what is known of a class.
func (a *answers) forget(class string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.editions, class)
	delete(a.profiles, class)
}

// parameter returns what SSM has said about the parameter since then, if that counts still.
func (a *answers) parameter(name string, since, now time.Time) (value string, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	x, known := a.parameters[name]
	return x.value, known && now.Sub(x.at) < x.lasts(name) && !x.at.Before(since)
}

// putParameter keeps what SSM said when it was asked; what is of no use any more goes.
func (a *answers) putParameter(name, value string, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.parameters == nil {
		a.parameters = map[string]parameterAnswer{}
	}
	maps.DeleteFunc(a.parameters, func(other string, x parameterAnswer) bool { return at.Sub(x.at) >= x.lasts(other) })
	a.parameters[name] = parameterAnswer{at, value}
}

// forgetParameters drops the parameters that name one of the images.
func (a *answers) forgetParameters(images map[string]bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.parameters, func(_ string, x parameterAnswer) bool { return images[x.value] })
}

// profile returns the instance profile that IAM has had for the class, if that counts still.
func (a *answers) profile(class *awsv1.EC2NodeClass, now time.Time) (aws.InstanceProfile, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	x := a.profiles[class.Name]
	return x.profile, x.profile.Name != "" && x.edition == editionOf(class) && now.Sub(x.at) < profileLasts
}

// putProfile keeps what IAM said when it was asked.
func (a *answers) putProfile(class *awsv1.EC2NodeClass, p aws.InstanceProfile, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.profiles == nil {
		a.profiles = map[string]profileAnswer{}
	}
	a.profiles[class.Name] = profileAnswer{editionOf(class), at, p}
}

// forgetProfile drops the instance profile of a class.
func (a *answers) forgetProfile(class string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.profiles, class)
}
