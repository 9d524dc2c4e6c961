package stats

import "math/rand/v2"

// maxUnits is of how many units halves are drawn at most. Clusters beyond that are drawn in groups.
const maxUnits = 8192

// groupStream tells the random stream that makes groups from those that draw halves.
const groupStream = 1 << 63

// inGroups joins clusters to maxUnits groups at random, where there are more, so that any number of clusters takes the
// time of maxUnits. Groups are the same in every column, and equally large but for one cluster.
//
// What is exact for clusters stays exact for groups of them: a sum of deviations, each as likely up as down, is as
// likely up as down. Between two ways to make groups the width of an interval varies by about 1/√(2·maxUnits), 0.8 %,
// which is as much as between two seeds of the resamples. Groups are made at random: where tests repeat in their order,
// groups of every nth test would be too much alike, or too little.
//
// Source: K. M. Wolter, Introduction to Variance Estimation, 2nd edition (2007), chapter 2, on random groups.
func inGroups(columns [][]clusterSum, seed uint64) [][]clusterSum {
	if len(columns) == 0 || len(columns[0]) <= maxUnits {
		return columns
	}
	shuffled := rand.New(rand.NewPCG(seed, groupStream)).Perm(len(columns[0]))
	grouped := make([][]clusterSum, len(columns))
	for i, column := range columns {
		grouped[i] = make([]clusterSum, maxUnits)
		for nth, cluster := range shuffled {
			group := &grouped[i][nth%maxUnits]
			group.n += column[cluster].n
			group.sum += column[cluster].sum
		}
	}
	return grouped
}
