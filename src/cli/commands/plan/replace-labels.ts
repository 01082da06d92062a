import { relabel } from '../../../batch/other-labels.ts'
import type { BatchOptions } from '../../../batch/types.ts'
import type { OtherLabels } from '../../../plan/find-labels.ts'
import type { Connection, Deps } from '../../deps.ts'

/** Replaces the labels of NFTs that are adopted, before anything else is sent. */
export async function replaceLabels(
  { signals: { signal } }: Deps,
  { client }: Connection,
  options: BatchOptions,
  relabeled: Pick<OtherLabels, 'count' | 'pages'>,
): Promise<void> {
  const { label } = options
  if (relabeled.count === 0 || label == null) return
  for await (const page of relabeled.pages()) await relabel(client, { ...options, signal }, page, label)
}
