import type { ConfigFlags } from '../../../config/settings.ts'
import { parseUrl } from '../../../core/parse-url.ts'
import { withEns } from '../../connect/open-ens.ts'
import type { Deps } from '../../deps.ts'
import { type Finding, fail, ok } from './finding.ts'

const CHECK_NAME = 'ENS node'

/** Checks the Ethereum node that resolves ENS names. Returns no findings if none is configured. */
export async function checkEnsNode(
  deps: Pick<Deps, 'env' | 'io' | 'signals' | 'settings'>,
  flags: ConfigFlags,
): Promise<Finding[]> {
  // Ignore settings that can't be loaded, because another check reports them. This check doesn't need a server.
  const { ensRpcUrl: node } = await deps.settings(flags).catch(() => ({ ensRpcUrl: null }))
  if (node === null) return []
  try {
    await withEns(deps, node, {}, async (resolver) => await resolver.checkNode())
    return [ok(CHECK_NAME, `${parseUrl(node.value)?.origin} is a node of Ethereum mainnet (from ${node.from})`)]
  } catch (error) {
    deps.signals.signal.throwIfAborted()
    return [fail(CHECK_NAME, error)]
  }
}
