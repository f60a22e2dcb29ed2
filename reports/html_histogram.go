package reports

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// htmlHistogram shows how long cases took, in buckets that double.
type htmlHistogram struct {
	// Label says in words what the picture shows.
	Label string
	// Width and Height are those of the picture, in pixels.
	Width, Height int
	Bars          []htmlBar
}

type htmlBar struct {
	X, Y, Width, Height float64
	// Range is the bucket, such as 8ms to 16ms, and Count how many cases fell into it.
	Range, Count string
	// Tick is what stands below the bar; empty for most.
	Tick string
}

const (
	histogramHeight = 96
	barWidth        = 22
	barGap          = 4
)

// latencies returns the histogram of the cases that ran; nil when none did.
func latencies(results []Result) *htmlHistogram {
	var times []time.Duration
	for _, r := range results {
		if r.Duration > 0 {
			times = append(times, r.Duration)
		}
	}
	if len(times) == 0 {
		return nil
	}
	slices.Sort(times)
	first, last := bucket(times[0]), bucket(times[len(times)-1])
	counts := make([]int, last-first+1)
	for _, d := range times {
		counts[bucket(d)-first]++
	}
	h := &htmlHistogram{
		Label: fmt.Sprintf("Durations of %s: half took up to %s, 95%% up to %s, 99%% up to %s, the slowest %s", plural(len(times), "case", "cases"),
			took(quantile(times, 0.5)), took(quantile(times, 0.95)), took(quantile(times, 0.99)), took(times[len(times)-1])),
		Width: len(counts) * (barWidth + barGap), Height: histogramHeight,
	}
	most := slices.Max(counts)
	for i, n := range counts {
		height := float64(n) / float64(most) * (histogramHeight - 20)
		if n > 0 {
			height = max(height, 1)
		}
		bar := htmlBar{
			X: float64(i * (barWidth + barGap)), Y: histogramHeight - 14 - height, Width: barWidth, Height: height,
			Range: fmt.Sprintf("%s to %s", took(bucketStart(first+i)), took(bucketStart(first+i+1))), Count: plural(n, "case", "cases"),
		}
		if i%3 == 0 {
			bar.Tick = took(bucketStart(first + i))
		}
		h.Bars = append(h.Bars, bar)
	}
	return h
}

// bucket is the number of the bucket that a duration falls into: bucket n begins at 2^n ms.
func bucket(d time.Duration) int {
	return int(math.Floor(math.Log2(float64(d) / float64(time.Millisecond))))
}

func bucketStart(n int) time.Duration {
	return time.Duration(math.Pow(2, float64(n)) * float64(time.Millisecond))
}

// quantile returns the smallest of the sorted durations that at least that part of them does not exceed.
func quantile(sorted []time.Duration, part float64) time.Duration {
	return sorted[max(int(math.Ceil(part*float64(len(sorted))))-1, 0)]
}
