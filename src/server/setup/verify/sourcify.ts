import { textOrJson } from '../../../core/excerpt.ts'
import { asObject } from '../../../core/json.ts'
import { compilerVersion, standardInput } from './contracts.ts'
import {
  connectVerifier,
  rejectedResult,
  type SourceVerifier,
  type VerificationResult,
  type VerifierOptions,
} from './verifier.ts'

export const SOURCIFY_URL = 'https://sourcify.dev/server'
const SOURCIFY_PAGES_URL = 'https://repo.sourcify.dev'
const BAD_REQUEST = 400
const CONFLICT = 409

/** Creates a verifier for Sourcify's API v2: https://docs.sourcify.dev/docs/api/ */
export function createSourcify(options: VerifierOptions): SourceVerifier {
  const { url, chainId } = options
  const http = connectVerifier(options)
  const pageOf = (address: string) =>
    url === SOURCIFY_URL ? `${SOURCIFY_PAGES_URL}/${chainId}/${address}` : `${url}/v2/contract/${chainId}/${address}`

  /** Returns how well a verified contract matches its sources. Returns null if the contract isn't verified. */
  const look = async (address: string) => {
    const { json } = await http.send({ method: 'GET', url: `${url}/v2/contract/${chainId}/${address}` })
    return parseMatch(json)
  }
  const already = (address: string, match: VerificationResult['match']): VerificationResult => ({
    status: 'already_verified',
    match,
    url: pageOf(address),
    message: null,
  })

  return {
    service: 'sourcify',

    async verify({ address, identifier, creationTransaction }) {
      if ((await look(address)) === 'exact') return already(address, 'exact')
      const { status, json } = await http.send({
        method: 'POST',
        url: `${url}/v2/verify/${chainId}/${address}`,
        contentType: 'application/json',
        body: JSON.stringify({
          stdJsonInput: JSON.parse(standardInput) as unknown,
          compilerVersion,
          contractIdentifier: identifier,
          ...(creationTransaction === null ? {} : { creationTransactionHash: creationTransaction }),
        }),
      })
      if (status === CONFLICT && json.customCode === 'already_verified') return already(address, await look(address))
      const id = json.verificationId
      if (status >= BAD_REQUEST || typeof id !== 'string') return rejectedResult(parseReason(json))
      for (;;) {
        const job = (await http.send({ method: 'GET', url: `${url}/v2/verify/${encodeURIComponent(id)}` })).json
        if (job.isJobCompleted !== true) {
          await http.wait()
          continue
        }
        const error = asObject(job.error)
        if (error?.customCode === 'already_verified') return already(address, await look(address))
        const match = parseMatch(asObject(job.contract) ?? {})
        if (error !== null || match === null) return rejectedResult(parseReason(error ?? {}))
        return { status: 'verified', match, url: pageOf(address), message: null }
      }
    },

    close: () => http.close(),
  }
}

const parseMatch = ({ match }: Record<string, unknown>): VerificationResult['match'] =>
  match === 'exact_match' ? 'exact' : match === 'match' ? 'partial' : null

const parseReason = ({ message, customCode }: Record<string, unknown>): string =>
  textOrJson(message ?? customCode ?? 'the service returned no reason')
