import { readFileSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { Reporter, TestCase, TestModule } from 'vitest/node'
import { CHROMIUM } from './chromium.ts'
// The configuration imports this module before any process of a test starts.
import './clean-environment.ts'

const SLOWEST = 20

/**
 * Prints the slowest files at the end of a run, and one line about the skipped tests with the reasons. Writes the
 * seconds of all files to the file that GDN_TEST_REPORT names.
 */
export class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    if (modules.length < SLOWEST) return
    const files = modules
      .map((module) => ({
        project: module.project.name,
        file: relative(process.cwd(), module.moduleId),
        seconds: Math.round(module.diagnostic().duration / 100) / 10,
      }))
      .sort((a, b) => b.seconds - a.seconds)
    const report = process.env.GDN_TEST_REPORT
    if (report !== undefined) writeFileSync(report, `${JSON.stringify(files, null, 2)}\n`)
    const lines = files
      .slice(0, SLOWEST)
      .map(({ project, file, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${project}: ${file}`)
    process.stdout.write(`\nSlowest files:\n${lines.join('\n')}\n${skippedLine(modules)}`)
  }
}

function skippedLine(modules: readonly TestModule[]): string {
  const counts = new Map<string, number>()
  for (const module of modules) {
    for (const test of module.children.allTests('skipped')) {
      if (isLeftToRest(test)) continue
      const result = test.result()
      const reason = (result.state === 'skipped' ? result.note : undefined) ?? reasonOf(module.moduleId)
      counts.set(reason, (counts.get(reason) ?? 0) + 1)
    }
  }
  if (counts.size === 0) return ''
  return `Skipped: ${[...counts].map(([reason, n]) => `${n} (${reason})`).join(', ')}\n`
}

/** `npm test` says itself what it leaves to other commands. */
function isLeftToRest({ options: { tags = [] } }: TestCase): boolean {
  return process.env.GDN_SUITE === 'core' && tags.includes('slow') && !tags.includes('promise')
}

/** Suites that are skipped as a whole have no note. */
function reasonOf(path: string): string {
  const needsChromium = CHROMIUM === undefined && /helpers\/chromium\.ts/.test(readFileSync(path, 'utf8'))
  return needsChromium ? 'Chromium is not installed' : 'for another platform, database or Node.js version'
}
