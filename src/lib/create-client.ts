import { basename } from 'node:path'
import { ENDPOINT_NAMES, type EndpointName } from '../api/endpoints.ts'
import type { ApiClient, RequestOf } from '../client/api-client.ts'
import type { AtMostOnce } from './at-most-once.ts'
import type { CallOptions, FileToUpload } from './call.ts'
import { checkClientOptions, checkFile, checkIds, checkOperationOptions, checkWaitOptions } from './check-options.ts'
import { openConnection } from './connection.ts'
import type { Api } from './generated/api.ts'
import type { Client, ClientOptions, OperationOptions } from './types.ts'

/**
 * Creates the client of a server.
 *
 * @throws GdnError `invalid_config` for an invalid base URL or key; `unauthorized` without a key
 * @example
 * const gdn = createClient({ baseUrl: 'https://api.example.com', apiKey })
 * const { nfts } = await gdn.api.getnfts({ nft_gdn_ids: [id] })
 */
export function createClient(options: ClientOptions = {}): Client {
  checkClientOptions(options)
  const connection = openConnection(options)
  let engine: Promise<AtMostOnce> | undefined
  // The first operation loads this module and the state database.
  const atMostOnce = () => (engine ??= import('./at-most-once.ts').then((module) => new module.AtMostOnce(connection)))
  const close = async () => {
    await (await engine)?.close()
    await connection.close()
  }
  return {
    baseUrl: connection.baseUrl,
    api: apiOf(connection.client),
    createCollection: (async (request, options) => {
      const [requestCopy, optionsCopy] = [copyOf(request), copyOptions(options)]
      return await (await atMostOnce()).createCollection(requestCopy, optionsCopy)
    }) as Client['createCollection'],
    mint: async (request, options) => {
      const [requestCopy, optionsCopy] = [copyOf(request), copyOptions(options)]
      return await (await atMostOnce()).mint(requestCopy, optionsCopy)
    },
    transfer: async (request, options) => {
      const [requestCopy, optionsCopy] = [copyOf(request), copyOptions(options)]
      return await (await atMostOnce()).transfer(requestCopy, optionsCopy)
    },
    async waitForNfts(ids, options = {}) {
      checkIds(ids)
      checkWaitOptions(options)
      return await (await atMostOnce()).waitForNfts(ids, options)
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

function apiOf(client: () => Promise<ApiClient>): Api {
  const methodOf = (name: EndpointName) => async (request: RequestOf<EndpointName>, options?: CallOptions) => {
    const input = copyOf(request)
    return await (await client()).call(name, input, options)
  }
  const methods = Object.fromEntries(ENDPOINT_NAMES.map((name) => [name, methodOf(name)])) as unknown as Api
  return { ...methods, files: async (file, options) => await upload(await client(), file, options) }
}

/**
 * Copies a request when a function is called, so that the caller may change and reuse the object during the call. Omits
 * undefined fields, as JSON does.
 */
function copyOf<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(copyOf) as Value
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
  return Object.fromEntries(fields.map(([key, field]) => [key, copyOf(field)])) as Value
}

/** Checks the options of a call, and copies them so that the caller may change them during the call. */
function copyOptions(options: OperationOptions): OperationOptions {
  checkOperationOptions(options)
  return { ...options }
}

async function upload(client: ApiClient, input: FileToUpload, options?: CallOptions) {
  checkFile(input)
  const { file, name } = input
  return await client.upload(file, name ?? (typeof file === 'string' ? basename(file) : 'file'), options)
}
