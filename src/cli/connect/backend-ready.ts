import * as z from 'zod'
import { createTransport } from '../../client/create-transport.ts'
import type { TransportResponse } from '../../client/transport.ts'
import { parseJson } from '../../core/json.ts'

const TIMEOUT_MS = 10_000

const readinessSchema = z.object({ problems: z.array(z.string()).optional(), warnings: z.array(z.string()).optional() })

/** Requests the readiness of a backend on this machine. */
export async function requestReadiness(url: string, signal: AbortSignal): Promise<TransportResponse> {
  const transport = await createTransport('single')
  try {
    const request = { method: 'GET', url: `${url}/readyz`, headers: {}, timeoutMs: TIMEOUT_MS, signal } as const
    return await transport.request(request)
  } finally {
    await transport.close()
  }
}

/** Returns the problems that a gdn backend reports at `/readyz`. Other servers report none. */
export function parseReadinessProblems(readyz: Uint8Array): string[] {
  const { data: { problems = [], warnings = [] } = {} } = readinessSchema.safeParse(parseJson(readyz))
  return [...problems, ...warnings]
}
