import { NoServerError } from '../../../config/server.ts'
import type { Settings } from '../../../config/settings.ts'
import { count } from '../../../core/count.ts'
import { formatProblem, GdnError } from '../../../core/errors.ts'
import type { Column } from '../../../manifest/columns.ts'
import type { ManifestIssue, ManifestRow } from '../../../manifest/row.ts'
import type { Findings, MarketplaceFinding } from '../../../marketplace/finding.ts'
import type { Marketplace, RuleName } from '../../../marketplace/rules.ts'
import { CONTRACT_URI_CALL, decodeString } from '../../../verify/abi.ts'
import { printWarnings } from '../../batch/check-files.ts'
import { resolveCollection } from '../../connect/resolve-collection.ts'
import type { Deps } from '../../deps.ts'
import { safe } from '../../io/io.ts'

export interface MarketplaceCheck {
  add(row: ManifestRow, columns: readonly (Column | undefined)[] | null): void
  /** Counts a row with a problem. */
  skip(): void
  /** Checks the files and the collection, and prints warnings and hints. */
  finish(): Promise<{
    errors: ManifestIssue[]
    warnings: ManifestIssue[]
    /** The fields of the command's record. */
    fields: { findings: MarketplaceFinding[]; hints: MarketplaceFinding[] }
  }>
}

/** Starts the check of a drop against the rules of a marketplace; null if no marketplace is specified. */
export async function openMarketplaceCheck(
  deps: Deps,
  settings: Settings,
  marketplace: Marketplace | undefined,
  file: string,
): Promise<MarketplaceCheck | null> {
  if (marketplace === undefined) return null
  const { DropCheck } = await import('../../../marketplace/check-drop.ts')
  const drop = new DropCheck(file)
  return {
    add: drop.add,
    skip: drop.skip,
    async finish() {
      const findings = await drop.finish(deps.signals.signal)
      await checkCollection(deps, settings, findings)
      const warnings = findings.issues('warning')
      printWarnings(deps.io, { warnings })
      const unlisted = findings.counts.warning - warnings.length
      if (unlisted > 0) deps.io.warn(`  … and ${count(unlisted, 'more finding')}`)
      for (const hint of findings.issues('hint')) {
        deps.io.note(safe(`hint: ${formatProblem(hint)}`))
        deps.io.note(`  ${safe(hint.hint ?? '')}`)
      }
      const fields = {
        findings: [...findings.records('error'), ...findings.records('warning')],
        hints: findings.records('hint'),
      }
      return { errors: findings.issues('error'), warnings, fields }
    },
  }
}

const REQUIRED_FIELDS = [
  { key: 'image', rule: 'collection-image', flag: '--image <file>' },
  { key: 'banner_image', rule: 'collection-banner', flag: '--banner <file>' },
  { key: 'description', rule: 'collection-description', flag: '--description <text>' },
] as const satisfies readonly { key: string; rule: RuleName; flag: string }[]

/** Checks the metadata in the contract (ERC-7572), because marketplaces see only this metadata of a collection. */
async function checkCollection(deps: Deps, settings: Settings, findings: Findings): Promise<void> {
  const collection = await collectionMetadata(deps, settings)
  if (typeof collection === 'string') return deps.io.note(`The collection was not checked: ${safe(collection)}.`)
  const { contract, metadata } = collection
  for (const { key, rule, flag } of REQUIRED_FIELDS) {
    const value = metadata[key]
    if (typeof value === 'string' && value.trim() !== '') continue
    const message = `the metadata in the contract ${contract} has no ${key}`
    const fix = `To add it, run \`gdn collection set ${contract} ${flag}\`.`
    findings.add({ row: null, line: null, column: key, rule, message, fix })
  }
}

/** Returns the metadata in the contract of the selected collection, or why it can't be read. */
async function collectionMetadata(
  deps: Deps,
  settings: Settings,
): Promise<string | { contract: string; metadata: Readonly<Record<string, unknown>> }> {
  try {
    const connection = await deps.connect(settings)
    const { contract, blockchain } = await resolveCollection(deps, settings, connection.server)
    const { openVerifier } = await import('../../connect/open-verifier.ts')
    const { verifier, close } = await openVerifier(deps, {}, blockchain, connection.server)
    try {
      if ('reason' in verifier) return verifier.reason
      const [answer] = await verifier.chain.call([{ to: contract, data: CONTRACT_URI_CALL }])
      if (answer?.kind === 'failed') return answer.message
      const uri = answer?.kind === 'value' ? decodeString(answer.data) : null
      if (uri === null) return `${contract} has no contractURI (ERC-7572)`
      const { readMetadata } = await import('../collection/set/metadata.ts')
      return { contract, metadata: await readMetadata(deps, async () => connection, {}, uri) }
    } finally {
      await close()
    }
  } catch (error) {
    if (!(error instanceof GdnError) || deps.signals.signal.aborted) throw error
    if (!(error instanceof NoServerError)) return error.message
    return settings.contract === null
      ? 'no collection is selected'
      : `${error.message}, so the collection's metadata can't be read`
  }
}
