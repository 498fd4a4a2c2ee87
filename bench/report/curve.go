package report

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Point is a point of a curve.
type Point struct{ X, Y float64 }

// Line is a contender's curve.
type Line struct {
	Name   string
	Points []Point
}

// Curve is a picture of lines over a logarithmic scale.
type Curve struct {
	Title string
	File  string // the name of the picture
	X, Y  string // what the scales are of
	// LogY says that the upright scale is logarithmic too.
	LogY  bool
	Lines []Line
}

// The picture's size and the margins around its plot.
const (
	width, height = 760.0, 420.0
	left, right   = 70.0, 210.0
	top, bottom   = 40.0, 50.0
)

var colours = []string{"#0b6bcb", "#c2410c", "#15803d", "#7c3aed", "#b91c1c", "#0e7490", "#a16207", "#475569", "#be185d", "#4d7c0f", "#1e40af", "#78716c"}

// svg draws the curve.
func (c *Curve) svg() string {
	minX, maxX, minY, maxY := c.bounds()
	x := func(v float64) float64 {
		return left + (math.Log(v)-math.Log(minX))/(math.Log(maxX)-math.Log(minX))*(width-left-right)
	}
	y := func(v float64) float64 {
		share := (v - minY) / (maxY - minY)
		if c.LogY {
			share = (math.Log(v) - math.Log(minY)) / (math.Log(maxY) - math.Log(minY))
		}
		return height - bottom - share*(height-top-bottom)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" font-family="sans-serif" font-size="12">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%.0f" height="%.0f" fill="#ffffff"/>`+"\n", width, height)
	text(&b, left, 22, "start", c.Title, `font-size="15"`)
	text(&b, (left+width-right)/2, height-12, "middle", c.X, "")
	text(&b, 12, 36, "start", c.Y, "")
	for _, tick := range c.ticksX() {
		fmt.Fprintf(&b, `<line x1="%.1f" y1="%.0f" x2="%.1f" y2="%.0f" stroke="#e5e7eb"/>`+"\n", x(tick), top, x(tick), height-bottom)
		text(&b, x(tick), height-bottom+18, "middle", number(tick), "")
	}
	for _, tick := range c.ticksY(minY, maxY) {
		fmt.Fprintf(&b, `<line x1="%.0f" y1="%.1f" x2="%.0f" y2="%.1f" stroke="#e5e7eb"/>`+"\n", left, y(tick), width-right, y(tick))
		text(&b, left-8, y(tick)+4, "end", number(tick), "")
	}
	labels := c.labels(y)
	for i, line := range c.Lines {
		colour := colours[i%len(colours)]
		var points []string
		for _, p := range line.Points {
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(p.X), y(p.Y)))
		}
		thickness := 1.5
		if i == 0 {
			thickness = 3
		}
		fmt.Fprintf(&b, `<polyline fill="none" stroke="%s" stroke-width="%.1f" points="%s"/>`+"\n", colour, thickness, strings.Join(points, " "))
		text(&b, width-right+10, labels[i], "start", line.Name, `fill="`+colour+`"`)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func text(b *strings.Builder, x, y float64, anchor, what, more string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s" %s>%s</text>`+"\n", x, y, anchor, more, html.EscapeString(what))
}

// labels are the heights of the lines' names: beside their last points, but not
// over one another.
func (c *Curve) labels(y func(float64) float64) []float64 {
	const apart = 15
	out := make([]float64, len(c.Lines))
	taken := make(map[int]bool)
	for i, line := range c.Lines {
		place := int(math.Round(y(line.Points[len(line.Points)-1].Y)/apart)) * apart
		for distance := 0; ; distance++ {
			if !taken[place-distance*apart] && float64(place-distance*apart) > top-apart {
				place -= distance * apart
				break
			}
			if !taken[place+distance*apart] && float64(place+distance*apart) < height-bottom+apart {
				place += distance * apart
				break
			}
			if distance > len(c.Lines) {
				break
			}
		}
		taken[place] = true
		out[i] = float64(place)
	}
	return out
}

func (c *Curve) bounds() (minX, maxX, minY, maxY float64) {
	minX, minY = math.Inf(1), math.Inf(1)
	for _, line := range c.Lines {
		for _, p := range line.Points {
			minX, maxX = min(minX, p.X), max(maxX, p.X)
			minY, maxY = min(minY, p.Y), max(maxY, p.Y)
		}
	}
	if !c.LogY {
		minY = 0
	}
	if maxX <= minX {
		maxX = minX * 2
	}
	if maxY <= minY {
		maxY = minY + 1
	}
	return minX, maxX, minY, maxY
}

// ticksX are the values that were measured.
func (c *Curve) ticksX() []float64 {
	var ticks []float64
	for _, p := range c.Lines[0].Points {
		ticks = append(ticks, p.X)
	}
	return ticks
}

func (c *Curve) ticksY(low, high float64) []float64 {
	var ticks []float64
	if c.LogY {
		for power := math.Floor(math.Log10(low)); power <= math.Ceil(math.Log10(high)); power++ {
			for _, digit := range []float64{1, 2, 5} {
				if tick := digit * math.Pow(10, power); tick >= low && tick <= high {
					ticks = append(ticks, tick)
				}
			}
		}
		return ticks
	}
	step := math.Pow(10, math.Floor(math.Log10(high)))
	for high/step < 4 {
		step /= 2
	}
	for tick := 0.0; tick <= high; tick += step {
		ticks = append(ticks, tick)
	}
	return ticks
}

// number writes a number for a scale.
func number(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%gM", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%gk", v/1e3)
	}
	return fmt.Sprintf("%g", v)
}
