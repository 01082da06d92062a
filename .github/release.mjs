// The first step of release.yml: fails if the tag, the repository, the package name or the changelog isn't as
// docs/releasing.md describes.
import { readFileSync } from 'node:fs'

const { GITHUB_REF_NAME: tag, GITHUB_REPOSITORY: repository, GITHUB_SERVER_URL: server } = process.env
const { version, repository: named, private: isPrivate } = JSON.parse(readFileSync('package.json', 'utf8'))
const url = `git+${server}/${repository}.git`

const problems = []
if (tag !== `v${version}`) problems.push(`the tag is ${tag}, and the version in package.json is ${version}`)
if (named?.url !== url) problems.push(`the repository in package.json is ${named?.url}, and this one is ${url}`)
if (isPrivate) problems.push('package.json is private: nobody has set the name of the npm package')
if (!readFileSync('CHANGELOG.md', 'utf8').includes(`\n## [${version}]`)) {
  problems.push(`CHANGELOG.md has no section [${version}]`)
}

for (const problem of problems) {
  process.stdout.write(`::error title=release::nothing is published: ${problem}. See docs/releasing.md.\n`)
}
process.exitCode = problems.length === 0 ? 0 : 1
