package limit

import (
	"time"

	"rehearse/internal/sitebot/site"
)

// zoneOf returns the zone in which a site's days begin.
func zoneOf(*site.Site) *time.Location { return time.UTC }
