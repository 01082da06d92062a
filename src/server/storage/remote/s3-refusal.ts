import { GdnError } from '../../../core/errors.ts'
import { classifyRefusal } from '../../../object-store/refusal.ts'
import { StorageUnavailableError } from '../adapter.ts'
import type { StorageTextResponse } from './storage-client.ts'

export type S3Response = Pick<StorageTextResponse, 'status' | 'headers' | 'body'>

/** Returns the error for an unsuccessful response of S3, with a hint that names the setting to change. */
export function s3Error(
  { name, place, region }: { name: string; place: string; region: string },
  response: S3Response,
): GdnError {
  const { reason, code, details, actualRegion } = classifyRefusal(response)
  const message = `${name} rejected the request: ${code}`
  if (reason === 'temporary') return new StorageUnavailableError(message, { details })
  if (reason === 'wrong_region') {
    const hint =
      actualRegion === undefined
        ? 'Check storage.region and storage.endpoint.'
        : `Set storage.region to ${actualRegion}.`
    return new GdnError('invalid_config', `${message}: it is not in the region ${region}`, { hint, details })
  }
  if (reason === 'forbidden') {
    const hint = `Check the credentials of the storage: they need permission to get and put objects in ${place}.`
    return new GdnError('forbidden', message, { hint, details })
  }
  const hint = 'Check storage.bucket and storage.endpoint.'
  return new GdnError(reason === 'not_found' ? 'invalid_config' : 'refused', message, { hint, details })
}
