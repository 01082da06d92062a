import * as z from 'zod'
import { defineEndpoint } from '../endpoint.ts'

/** Maximum size of an uploaded file in bytes. The same limit applies to files that are fetched from URLs. */
export const MAX_FILE_BYTES = 64 * 1024 * 1024

export const files = defineEndpoint({
  name: 'files',
  summary: 'Upload a file and get a URL for file_fields',
  tag: 'Files',
  origin: 'extension',
  permissions: ['nft:create'],
  contentType: 'multipart/form-data',
  request: z.unknown(),
  response: z.looseObject({ url: z.string() }),
  example: {
    request: undefined,
    response: { url: 'ipfs://bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei4' },
  },
})
