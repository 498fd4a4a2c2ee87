// Package readme has the tests that keep the README files of all modules true:
// their Go code compiles, and the root's quick start is examples/quickstart.
//
// A ```go block is a whole file, declarations, or statements; import lines may
// come first. Packages of the standard library and of this repository need no
// import line, a framework does. What statements use without saying where it
// comes from is told in a comment right above the block, as a parameter list
// and, if that needs one, the import of a framework:
//
//	<!-- given: r *gin.Engine, api *ratelimit.Limiter; "github.com/gin-gonic/gin" -->
//
// An ```http block is an answer that examples/apptest/testdata/script.txt has.
package readme
