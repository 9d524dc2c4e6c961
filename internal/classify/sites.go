package classify

import (
	"cmp"
	"strings"

	"rehearse/internal/config"
	"rehearse/internal/dataset"
	"rehearse/internal/source"
)

// siteOf returns the site that an item names; of an item that names none, the one that is said for those, or the only one.
func (c *Classifier) siteOf(item *dataset.Item) (config.Site, error) {
	own, _ := item.Metadata["site_name"].(string)
	name := cmp.Or(own, c.site)
	var where, known []string
	for _, place := range c.places {
		opened, err := c.setup.SitesAt(place)
		if err != nil {
			return config.Site{}, err
		}
		where = append(where, opened.Place)
		for _, one := range opened.Library.Sites() {
			known = append(known, one.Name)
		}
		if found, err := opened.Library.Find(name); err == nil && name != "" {
			place.Name = found.Name
			return place, nil
		}
	}
	if name == "" && len(known) == 1 {
		place := c.places[0]
		place.Name = known[0]
		return place, nil
	}
	return config.Site{}, c.noSite(item.ID, own, strings.Join(where, ", "), known)
}

// noSite says that the site of an item is not known: the one that the item names, the one that was said for items that name none, or any.
func (c *Classifier) noSite(item, own, where string, known []string) error {
	switch {
	case own != "":
		return source.Invalid("the item %q is of the site %q, which is not in %s: correct its metadata.site_name (%s), or remove it and say --site",
			item, own, where, source.Suggest(own, known))
	case c.site != "":
		return source.Invalid("there is no site %q in %s: %s", c.site, where, source.Suggest(c.site, known))
	}
	return source.Invalid("the item %q names no site, and there are several in %s: write its metadata.site_name, or add --site: %s",
		item, where, strings.Join(known, ", "))
}
