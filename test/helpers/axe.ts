import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Finding {
  id: string
  impact: string | null
  nodes: { target: string[]; failureSummary: string }[]
}

/** Returns the serious accessibility violations that axe finds on a page. */
export const seriousViolations = (page: Page): Promise<string[]> => violations(page, ['serious', 'critical'])

/** Returns the accessibility violations that axe finds on a page. Default: those of each impact. */
export async function violations(page: Page, impacts?: readonly string[]): Promise<string[]> {
  await page.evaluate(AXE)
  const found: Finding[] = await page.evaluate(
    "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)",
  )
  return found
    .filter(({ impact }) => impacts?.includes(String(impact)) ?? true)
    .flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id}: ${target} ${failureSummary}`))
}
