/** @module-tag slow */
import { beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import * as z from 'zod'
import {
  backendForFile,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  type TestBackend,
} from '../helpers/backend.ts'
import { readDeployFile } from './folder.ts'

const panel = z.looseObject({
  title: z.string(),
  type: z.string(),
  gridPos: z.object({ x: z.int(), y: z.int(), w: z.int(), h: z.int() }),
  targets: z.array(z.looseObject({ expr: z.string(), datasource: z.object({ uid: z.string() }) })).optional(),
})
const dashboard = z.looseObject({ uid: z.string(), panels: z.array(panel) })
const alerts = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.object({
          alert: z.string(),
          expr: z.string(),
          for: z.string().regex(/^\d+m$/),
          labels: z.object({ severity: z.enum(['warning', 'critical']) }),
          annotations: z.object({ summary: z.string(), action: z.string() }),
        }),
      ),
    }),
  ),
})

const { panels } = dashboard.parse(JSON.parse(readDeployFile('grafana/dashboards/gdn.json')))
const rules = alerts.parse(parse(readDeployFile('alerts.yml'))).groups.flatMap((group) => group.rules)

/** Metrics that Prometheus itself creates for each target. */
const OF_PROMETHEUS = { metrics: ['up'], labels: ['job', 'instance', 'le'] }
const WORDS = new Set(['by', 'without', 'on', 'ignoring', 'or', 'and', 'unless', 'bool', 'offset'])

/** The names of metrics in an expression, without functions, keywords and labels. */
function metricsIn(expr: string): string[] {
  const bare = expr
    .replace(/"(?:[^"\\]|\\.)*"/g, '')
    .replace(/\{[^}]*\}/g, '')
    .replace(/\b(?:by|without|on|ignoring)\s*\([^)]*\)/g, '')
    .replace(/\[[^\]]*\]/g, '')
  const names = [...bare.matchAll(/(?<![\w.:])[a-zA-Z_:][\w:]*(?!\s*\()(?![\w:])/g)].map(([name]) => name)
  return names.filter((name) => !WORDS.has(name))
}

/** Labels by which an expression filters or groups. */
function labelsIn(expr: string): string[] {
  const matched = [...expr.matchAll(/[{,]\s*(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label]) => label ?? '')
  const grouped = [...expr.matchAll(/\b(?:by|without|on|ignoring)\s*\(([^)]*)\)/g)].flatMap(([, list = '']) =>
    list.split(','),
  )
  return [...matched, ...grouped.map((label) => label.trim())]
}

let backend: TestBackend
/** All names of series in a scrape, including those of histograms. */
const scraped = new Set<string>()
const labels = new Set<string>()

beforeAll(async () => {
  backend = await backendForFile()
  const collection = await createTestCollection(backend)
  const [nft] = await settled(backend, await mint(backend, collection, plainMetadata(2)))
  await (await backend.get(String(nft?.metadata_url).replace('ipfs://', '/ipfs/'))).text()
  const text = await (await backend.get('/metrics')).text()
  for (const [, name = '', type] of text.matchAll(/^# TYPE (\w+) (\w+)$/gm)) {
    scraped.add(name)
    if (type === 'histogram') for (const part of ['bucket', 'sum', 'count']) scraped.add(`${name}_${part}`)
  }
  for (const [, list = ''] of text.matchAll(/^\w+\{(.*)\} /gm)) {
    for (const [, label = ''] of list.matchAll(/(\w+)="/g)) labels.add(label)
  }
})

const expressions = [
  ...panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [`the panel ${title}`, expr] as const)),
  ...rules.map(({ alert, expr }) => [`the alert ${alert}`, expr] as const),
]

describe('the queries of Prometheus', () => {
  it('are parsed into metric names and labels, without functions and keywords', () => {
    expect(metricsIn('sum by (le) (rate(a_bucket{x=~"y|z"}[5m])) / (b or vector(0)) > 1e9')).toEqual(['a_bucket', 'b'])
    expect(labelsIn('sum by (le, u) (rate(a{x=~"y", w="v"}[5m]))')).toEqual(['x', 'w', 'le', 'u'])
  })

  it.each(expressions)('%s uses only metrics of a scrape: %s', (_, expr) => {
    const names = metricsIn(expr)
    expect(names.length).toBeGreaterThan(0)
    expect(names.filter((name) => !scraped.has(name) && !OF_PROMETHEUS.metrics.includes(name))).toEqual([])
  })

  it('use only existing labels', () => {
    // Except those whose series need a network by RPC URL, or webhook deliveries.
    const others = ['provider', 'signer', 'outcome']
    const known = new Set([...labels, ...OF_PROMETHEUS.labels, ...others])
    for (const [what, expr] of expressions) {
      expect([what, labelsIn(expr).filter((label) => !known.has(label))]).toEqual([what, []])
    }
  })
})

describe('the dashboard', () => {
  it('has panels that do not overlap', () => {
    const taken = new Set<string>()
    for (const { title, gridPos } of panels) {
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect([title, x < 24, taken.has(`${x} ${y}`)]).toEqual([title, true, false])
          taken.add(`${x} ${y}`)
        }
      }
    }
  })

  it('uses the provisioned data source', () => {
    const [source] = parse(readDeployFile('grafana/provisioning/datasources/prometheus.yaml')).datasources
    const asked = panels.flatMap(({ targets = [] }) => targets.map(({ datasource }) => datasource.uid))
    expect(new Set(asked)).toEqual(new Set([source.uid]))
  })

  it('shows every metric of gdn except details of others', () => {
    const shown = new Set(panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => metricsIn(expr))))
    const ours = [...scraped].filter((name) => name.startsWith('gdn_') && !/_(bucket|sum|count)$/.test(name))
    const covers = (name: string) => [name, `${name}_bucket`, `${name}_count`].some((one) => shown.has(one))
    expect(ours.filter((name) => !covers(name))).toEqual([])
  })
})
