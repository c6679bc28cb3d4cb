package ec2sim

import (
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

var templateName = regexp.MustCompile(`^[a-zA-Z0-9().\-/_]{3,128}$`)

// template is a launch template; versions[i] is version i+1.
type template struct {
	*resource
	name      string
	createdBy string
	created   time.Time
	versions  []templateVersion
}

type templateVersion struct {
	data        launchData
	description string
	createdBy   string
	created     time.Time
}

type templateItem struct {
	CreatedBy string   `xml:"createdBy"`
	Created   string   `xml:"createTime"`
	Default   int      `xml:"defaultVersionNumber"`
	Latest    int      `xml:"latestVersionNumber"`
	ID        string   `xml:"launchTemplateId"`
	Name      string   `xml:"launchTemplateName"`
	Tags      set[tag] `xml:"tagSet"`
}

func (t *template) item() templateItem {
	return templateItem{t.createdBy, stamp(t.created), 1, len(t.versions), t.id, t.name, t.tagSet()}
}

// version finds a version by number, $Latest or $Default; empty is $Default.
// The first version stays the default: no action here changes that.
func (t *template) version(name string) (int, *launchData, error) {
	number := 1
	switch name {
	case "", "$Default":
	case "$Latest":
		number = len(t.versions)
	default:
		var err error
		if number, err = strconv.Atoi(name); err != nil || number < 1 {
			return 0, nil, wire.Errorf("InvalidLaunchTemplateId.VersionNotFound", "Could not find the specified version %s for the launch template with ID %s.", name, t.id)
		}
	}
	if number > len(t.versions) {
		return 0, nil, wire.Errorf("InvalidLaunchTemplateId.VersionNotFound", "Could not find the specified version %d for the launch template with ID %s.", number, t.id)
	}
	return number, &t.versions[number-1].data, nil
}

// findTemplate finds a template by exactly one of id and name.
func (s *Service) findTemplate(id, name string) (*template, error) {
	switch {
	case id != "" && name != "":
		return nil, wire.Errorf("InvalidParameterCombination", "The request must contain either a launch template ID or a launch template name, not both.")
	case id != "":
		if t, ok := s.templates[id]; ok {
			return t, nil
		}
		return nil, noTemplateID(id)
	case name != "":
		for _, t := range s.templates {
			if t.name == name {
				return t, nil
			}
		}
		return nil, noTemplateName(name)
	}
	return nil, wire.Errorf("MissingParameter", "The request must contain a launch template ID or a launch template name.")
}

type createLaunchTemplateRequest struct {
	dryRun
	ClientToken string     `q:"ClientToken"`
	Data        launchData `q:"LaunchTemplateData,required"`
	Name        string     `q:"LaunchTemplateName,required"`
	TagSpecs    []tagSpec  `q:"TagSpecification"`
	Description string     `q:"VersionDescription"`
}

type templateAnswer struct {
	Template templateItem `xml:"launchTemplate"`
}

func createLaunchTemplate(c *call, in *createLaunchTemplateRequest) (any, error) {
	tags := tagsFor(kindTemplate, in.TagSpecs)
	if err := c.permit(in.DryRun, c.creation("CreateLaunchTemplate", kindTemplate, tags, nil)...); err != nil {
		return nil, err
	}
	return c.once(in.ClientToken, func() (any, error) {
		if err := c.checkNewTemplate(in); err != nil {
			return nil, err
		}
		now := c.s.cfg.Now()
		t := &template{
			resource: c.s.newResource(kindTemplate, "lt", tags), name: in.Name,
			createdBy: c.req.Identity.ARN, created: now,
			versions: []templateVersion{{in.Data, in.Description, c.req.Identity.ARN, now}},
		}
		c.s.templates[t.id] = t
		return templateAnswer{t.item()}, nil
	})
}

func (c *call) checkNewTemplate(in *createLaunchTemplateRequest) error {
	if !templateName.MatchString(in.Name) {
		return wire.Errorf("InvalidLaunchTemplateName.MalformedException", "A launch template name must be between 3 and 128 characters, and may contain letters, numbers, and the following characters: -()/._")
	}
	if err := checkTagSpecs(in.TagSpecs, kindTemplate); err != nil {
		return err
	}
	for _, t := range c.s.templates {
		if t.name == in.Name {
			return wire.Errorf("InvalidLaunchTemplateName.AlreadyExistsException", "Launch template name already in use.")
		}
	}
	return in.Data.check()
}

type createLaunchTemplateVersionRequest struct {
	dryRun
	ClientToken string     `q:"ClientToken"`
	Data        launchData `q:"LaunchTemplateData,required"`
	ID          string     `q:"LaunchTemplateId"`
	Name        string     `q:"LaunchTemplateName"`
	Description string     `q:"VersionDescription"`
}

type templateVersionAnswer struct {
	Version versionItem `xml:"launchTemplateVersion"`
}

func createLaunchTemplateVersion(c *call, in *createLaunchTemplateVersionRequest) (any, error) {
	t, err := c.s.findTemplate(in.ID, in.Name)
	if err != nil {
		return nil, err
	}
	if err := c.permit(in.DryRun, c.access(c.s.existing(t.resource))); err != nil {
		return nil, err
	}
	return c.once(in.ClientToken, func() (any, error) {
		if err := in.Data.check(); err != nil {
			return nil, err
		}
		t.versions = append(t.versions, templateVersion{in.Data, in.Description, c.req.Identity.ARN, c.s.cfg.Now()})
		return templateVersionAnswer{t.versionItem(len(t.versions))}, nil
	})
}

type deleteLaunchTemplateRequest struct {
	dryRun
	ID   string `q:"LaunchTemplateId"`
	Name string `q:"LaunchTemplateName"`
}

func deleteLaunchTemplate(c *call, in *deleteLaunchTemplateRequest) (any, error) {
	t, err := c.s.findTemplate(in.ID, in.Name)
	if err != nil {
		return nil, err
	}
	if err := c.permit(in.DryRun, c.access(c.s.existing(t.resource))); err != nil {
		return nil, err
	}
	delete(c.s.templates, t.id)
	delete(c.s.resources, t.id)
	return templateAnswer{t.item()}, nil
}

type describeLaunchTemplatesRequest struct {
	listing
	IDs   []string `q:"LaunchTemplateId"`
	Names []string `q:"LaunchTemplateName"`
}

type templatesAnswer struct {
	Templates set[templateItem] `xml:"launchTemplates"`
	NextToken string            `xml:"nextToken,omitempty"`
}

func describeLaunchTemplates(c *call, in *describeLaunchTemplatesRequest) (any, error) {
	found, err := pick(in.IDs, c.s.templates, func(string) error {
		return wire.Errorf("InvalidLaunchTemplateId.NotFound", "At least one of the launch templates specified in the request does not exist.")
	})
	if err != nil {
		return nil, err
	}
	if len(in.Names) > 0 {
		found = slices.DeleteFunc(found, func(t *template) bool { return !slices.Contains(in.Names, t.name) })
		for _, name := range in.Names {
			if !slices.ContainsFunc(found, func(t *template) bool { return t.name == name }) {
				return nil, wire.Errorf("InvalidLaunchTemplateName.NotFoundException", "At least one of the launch templates specified in the request does not exist.")
			}
		}
	}
	page, next, err := view[*template]{
		key:  func(t *template) string { return t.id },
		tags: func(t *template) map[string]string { return t.tags },
		fields: map[string]func(*template) []string{
			"create-time":          func(t *template) []string { return one(stamp(t.created)) },
			"launch-template-name": func(t *template) []string { return one(t.name) },
		},
		minPage: 1, maxPage: 200, defaultPage: 200,
	}.list(c, in.listing, found)
	if err != nil {
		return nil, err
	}
	out := templatesAnswer{NextToken: next}
	for _, t := range page {
		out.Templates = append(out.Templates, t.item())
	}
	return out, nil
}
