package ec2sim

import (
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

var templateName = regexp.MustCompile(`^[a-zA-Z0-9().\-/_]{3,128}$`)

// templateVersion is the version that a launch template has: no action here makes another.
const templateVersion = "1"

// template is a launch template.
type template struct {
	*resource
	name      string
	createdBy string
	created   time.Time
	visible   time.Time
	data      launchData
}

type templateItem struct {
	CreatedBy string   `xml:"createdBy"`
	Created   string   `xml:"createTime" filter:"create-time"`
	Default   int      `xml:"defaultVersionNumber"`
	Latest    int      `xml:"latestVersionNumber"`
	ID        string   `xml:"launchTemplateId"`
	Name      string   `xml:"launchTemplateName" filter:"launch-template-name"`
	Tags      set[tag] `xml:"tagSet" filter:""`
}

func (s *Service) templateItem(t *template) templateItem {
	return templateItem{t.createdBy, stamp(t.created), 1, 1, t.id, t.name, t.tagSet()}
}

// launchable finds the template of a launch, whose version it must have.
func (s *Service) launchable(spec fleetTemplate) (*template, error) {
	t, err := s.findTemplate(spec.ID, spec.Name)
	if err == nil && !slices.Contains([]string{"", "$Default", "$Latest", templateVersion}, spec.Version) {
		err = wire.Errorf("InvalidLaunchTemplateId.VersionNotFound", "Could not find the specified version %s for the launch template with ID %s.", spec.Version, t.id)
	}
	return t, err
}

// findTemplate finds a template by exactly one of id and name.
func (s *Service) findTemplate(id, name string) (*template, error) {
	switch {
	case id != "" && name != "":
		return nil, wire.Errorf("InvalidParameterCombination", "The request must contain either a launch template ID or a launch template name, not both.")
	case id != "":
		if t, ok := s.shownTemplates()[id]; ok {
			return t, nil
		}
		return nil, notFound(id)
	case name != "":
		for _, t := range s.shownTemplates() {
			if t.name == name {
				return t, nil
			}
		}
		return nil, noTemplateNamed(name)
	}
	return nil, wire.Errorf("MissingParameter", "The request must contain a launch template ID or a launch template name.")
}

// shownTemplates are those that EC2 shows by now, by id.
func (s *Service) shownTemplates() map[string]*template {
	now := s.cfg.Now()
	shown := maps.Clone(s.templates)
	maps.DeleteFunc(shown, func(_ string, t *template) bool { return t.visible.After(now) })
	return shown
}

type createLaunchTemplateRequest struct {
	dryRun
	ClientToken string     `q:"ClientToken"`
	Data        launchData `q:"LaunchTemplateData,required"`
	Name        string     `q:"LaunchTemplateName,required"`
	TagSpecs    []tagSpec  `q:"TagSpecification"`
}

type templateAnswer struct {
	Template templateItem `xml:"launchTemplate"`
}

func createLaunchTemplate(c *call, in *createLaunchTemplateRequest) (any, error) {
	tags := tagsFor(kindTemplate, in.TagSpecs)
	if err := c.permit(in.DryRun, c.creation("CreateLaunchTemplate", kindTemplate, tags, nil)...); err != nil {
		return nil, err
	}
	return c.once(in.ClientToken, false, func() (any, error) {
		if err := c.checkNewTemplate(in); err != nil {
			return nil, err
		}
		t := &template{
			resource: c.s.newResource(kindTemplate, "lt", tags), name: in.Name,
			createdBy: c.req.Identity.ARN, created: c.s.cfg.Now(), visible: c.s.cfg.Now().Add(c.s.draw()), data: in.Data,
		}
		c.s.templates[t.id] = t
		return templateAnswer{c.s.templateItem(t)}, nil
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
	return templateAnswer{c.s.templateItem(t)}, nil
}

type describeLaunchTemplatesRequest struct {
	listing
	IDs   []string `q:"LaunchTemplateId"`
	Names []string `q:"LaunchTemplateName"`
}

func describeLaunchTemplates(c *call, in *describeLaunchTemplatesRequest) (any, error) {
	found, err := pick(in.IDs, c.s.shownTemplates(), notFound)
	if err != nil {
		return nil, err
	}
	if len(in.Names) > 0 {
		found = slices.DeleteFunc(found, func(t *template) bool { return !slices.Contains(in.Names, t.name) })
	}
	for _, name := range in.Names {
		if !slices.ContainsFunc(found, func(t *template) bool { return t.name == name }) {
			return nil, noTemplateNamed(name)
		}
	}
	templates := list[*template, templateItem]{set: "launchTemplates", item: (*Service).templateItem, minPage: 1, maxPage: 200, defaultPage: 200}
	return templates.page(c, in.listing, found)
}
