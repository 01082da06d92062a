import type { Blockchain } from '../../../api/blockchains.ts'
import { ReferenceLookup } from '../../../batch/identity/server-names.ts'
import { RowNamer } from '../../../batch/rows/manifest-row.ts'
import { referenceScope, toReferenceId } from '../../../batch/rows/row-key.ts'
import type { BatchClient } from '../../../batch/types.ts'
import type { ManifestRow } from '../../../manifest/row.ts'
import { findRunLabel } from '../options/run-options.ts'

/** Larger manifests aren't looked up, because the lookup takes longer than the validation. */
const MAX_LOOKED_UP_ROWS = 10_000

/** Counts the rows of a manifest that the server already has, regardless of which machine minted them. */
export class RowsOnServer {
  readonly #namer = new RowNamer()
  readonly #path: string
  readonly #referenceIds: string[] = []

  constructor(manifestPath: string) {
    this.#path = manifestPath
  }

  add(row: ManifestRow): void {
    if (this.#referenceIds.length > MAX_LOOKED_UP_ROWS) return
    const record = this.#namer.name(row)
    const scope = referenceScope({ runName: null, manifest: this.#path, order: null })
    if (record !== null) this.#referenceIds.push(toReferenceId({ referenceScope: scope }, record))
  }

  /**
   * Returns the number of rows on the server; null if the manifest is too large or the server doesn't support reference
   * IDs.
   */
  async count(
    client: Pick<BatchClient, 'call' | 'supports' | 'learnCapabilities'>,
    target: { contractAddress: string; blockchain: Blockchain; signal: AbortSignal },
  ): Promise<number | null> {
    if (this.#referenceIds.length > MAX_LOOKED_UP_ROWS) return null
    if (client.supports('references') === null) await client.learnCapabilities({ signal: target.signal })
    if (client.supports('references') !== true) return null
    const label = await findRunLabel(this.#path, undefined)
    const mints = await new ReferenceLookup(client, target).findMints(this.#referenceIds)
    // Rows with a different label belong to another drop with the same file name.
    return [...mints.values()].filter(({ reference_label = null }) => reference_label === label).length
  }
}
