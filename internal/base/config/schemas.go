package config

import "reflect"

// Schemas returns the mappings of a configuration file, but for targets, by the names of their JSON Schemas.
func Schemas() map[string]reflect.Type {
	return map[string]reflect.Type{
		"file": reflect.TypeFor[fileKeys](), "model": reflect.TypeFor[ModelKeys](),
		"judge": reflect.TypeFor[judgeKeys](), "prices": reflect.TypeFor[Price](), "watch": reflect.TypeFor[Watch](),
		"thresholds": reflect.TypeFor[Thresholds](),
	}
}
