import type { GdnError } from '../../../../core/errors.ts'
import type { Providers } from '../../rpc/providers.ts'
import { READ_METHODS } from '../../rpc/read-methods.ts'
import { RpcError } from '../../rpc/rpc-response.ts'
import { type LoopbackRpc, methodNotFoundError, serveLoopback } from '../../rpc/serve-loopback.ts'
import { connectRemote } from '../remote/json-rpc.ts'
import { chainIdentity } from '../remote/remote-network.ts'

export interface Upstream {
  chainId: number
  /** URLs of the network's nodes. They may contain an API key of the provider, so they never leave this process. */
  urls: readonly string[]
  providers: Providers
  /** Called once with the reason when the network can no longer be read. */
  onFailure: (error: GdnError) => void
}

export interface ReadOnlyUpstream extends LoopbackRpc {
  call<Result>(method: string, params: readonly unknown[]): Promise<Result>
}

/**
 * Serves a public network to the node that forks it. Forwards only read methods, so that nothing on the fork can affect
 * the network.
 */
export async function serveReads({ chainId, urls, providers, onFailure }: Upstream): Promise<ReadOnlyUpstream> {
  const rpc = connectRemote({ urls, identity: chainIdentity(chainId), providers, onRequest: () => {} })
  let isOver = false
  const server = await serveLoopback(async (method, params) => {
    if (!READ_METHODS.has(method)) throw methodNotFoundError()
    try {
      return await rpc.call(method, params)
    } catch (error) {
      if (!(error instanceof RpcError) && !isOver) {
        isOver = true
        onFailure(error as GdnError)
      }
      throw error
    }
  })
  return {
    url: server.url,
    call: (method, params) => rpc.call(method, params),
    async close() {
      isOver = true
      await rpc.close()
      await server.close()
    },
  }
}
