import type { ApiClient } from '../../client/api-client.ts'
import { createTransport } from '../../client/create-transport.ts'
import type { ProxyOptions } from '../../client/pool-transport.ts'
import { lacksEndpoint } from '../../client/responses.ts'
import type { Storage, StorageDeps } from '../../client/storage/storage.ts'
import type { OnExchange } from '../../client/watch-transport.ts'
import type { Settings } from '../../config/settings.ts'
import type { StorageSettings } from '../../config/storage.ts'
import { GdnError } from '../../core/errors.ts'
import { isOnLoopback } from '../../core/parse-url.ts'
import { sleep } from '../../core/time.ts'
import type { UploadingClient } from '../deps.ts'

export interface StorageContext {
  settings: Settings
  env: NodeJS.ProcessEnv
  proxy: ProxyOptions | undefined
  userAgent: string
  onExchange: OnExchange | undefined
}

export const STORAGE_HINT =
  'Set your own storage with `gdn config set storage s3://<bucket>/<prefix>` or `gdn config set storage ipfs`, or use http(s) or ipfs URLs.'

export function withStorage(client: ApiClient, surroundings: StorageContext): UploadingClient {
  /** Whether the server accepts uploads; null until known. */
  let serverTakes: boolean | null = null
  let opening: Promise<Storage> | undefined

  const storage = (): Promise<Storage> | null => {
    const storageSettings = surroundings.settings.fileStorage()
    if (storageSettings === null) return null
    opening ??= open(storageSettings, surroundings)
    return opening
  }

  return {
    ...client,
    async hasPlaceForFiles(signal) {
      // Only gdn backends identify themselves, and all of them accept uploads.
      serverTakes ??= client.supports('idempotency') === true || (await acceptsUploads(client, signal))
      return serverTakes || (await storage()) !== null
    },
    async upload(content, name, options = {}) {
      if (serverTakes !== false) {
        try {
          return await client.upload(content, name, options)
        } catch (error) {
          if (!lacksEndpoint(error)) throw error
          serverTakes = false
        }
      }
      const place = await storage()
      if (place !== null) return await place.upload(content, name, options)
      throw new GdnError('invalid_input', `can't upload ${name}: ${client.baseUrl} accepts no uploads`, {
        hint: STORAGE_HINT,
      })
    },
    async close() {
      const opened = await opening?.catch(() => undefined)
      await Promise.all([client.close(), opened?.close()])
    },
  }
}

/**
 * Returns whether the server accepts uploads, as its response to a request without a file shows. Only a server without
 * the endpoint returns 404 or 405. The upload itself reports other errors.
 */
async function acceptsUploads(client: ApiClient, signal: AbortSignal | undefined): Promise<boolean> {
  const response = await client.send('files', Buffer.from('{}'), { idempotencyKey: 'probe', signal })
  return response.kind !== 'answered' || !lacksEndpoint(response.status)
}

async function open(
  storageSettings: StorageSettings,
  { env, proxy, userAgent, onExchange }: StorageContext,
): Promise<Storage> {
  const address = storageSettings.kind === 'ipfs' ? storageSettings.api : storageSettings.endpoint
  const isNear = address !== null && isOnLoopback(new URL(address))
  const line = async (): Promise<StorageDeps> => ({
    transport: await createTransport('bulk', { proxy: isNear ? undefined : proxy, onExchange }),
    userAgent,
    clock: { now: () => performance.now(), sleep, random: Math.random },
  })
  if (storageSettings.kind === 'ipfs') {
    const { createIpfsNodeStorage } = await import('../../client/storage/ipfs-node.ts')
    return createIpfsNodeStorage({ ...(await line()), api: storageSettings.api })
  }
  const [{ createS3Storage }, { readAwsCredentials }] = await Promise.all([
    import('../../client/storage/s3.ts'),
    import('../../object-store/aws-credentials.ts'),
  ])
  const { bucket, prefix, endpoint } = storageSettings
  const credentials = await readAwsCredentials(env)
  const region = storageSettings.region ?? (env.AWS_REGION || env.AWS_DEFAULT_REGION || 'us-east-1')
  const publicUrl = storageSettings.publicUrl ?? `https://${bucket}.s3.${region}.amazonaws.com`
  return createS3Storage({ ...(await line()), bucket, prefix, endpoint, region, publicUrl, credentials })
}
