import { GdnError } from '../../../core/errors.ts'
import { textOrJson } from '../../../core/excerpt.ts'
import { trimSlashes } from '../../../core/parse-url.ts'
import type { Secret } from '../../../core/secret.ts'
import { compilerVersion, standardInput } from './contracts.ts'
import {
  connectVerifier,
  rejectedResult,
  type SourceVerifier,
  type VerificationResult,
  type VerifierOptions,
} from './verifier.ts'

export const ETHERSCAN_URL = 'https://api.etherscan.io/v2/api'

export interface EtherscanOptions extends VerifierOptions {
  key: Secret
  /** URL of the block explorer's pages; null if it has none. */
  explorerUrl: string | null
}

/**
 * Creates a verifier for Etherscan's API v2, which covers all of Etherscan's block explorers:
 * https://docs.etherscan.io/contract-verification
 */
export function createEtherscan(options: EtherscanOptions): SourceVerifier {
  const { url, chainId, key, explorerUrl } = options
  const { host } = new URL(url)
  const http = connectVerifier(options)
  const common = { module: 'contract', apikey: key.reveal() }

  /** Returns the service's response. If the rate limit is exceeded, waits and retries. */
  const callApi = async (
    get: boolean,
    parameters: Record<string, string>,
  ): Promise<{ ok: boolean; result: string }> => {
    for (;;) {
      const form = new URLSearchParams({ ...common, ...parameters }).toString()
      const at = `${url}?chainid=${chainId}`
      const { json } = await (get
        ? http.send({ method: 'GET', url: `${at}&${form}` })
        : http.send({ method: 'POST', url: at, contentType: 'application/x-www-form-urlencoded', body: form }))
      const ok = json.status === '1'
      const result = textOrJson(json.result ?? json.message ?? '')
      if (!ok && /rate limit/i.test(result)) {
        await http.wait()
        continue
      }
      if (!ok && /api ?key/i.test(result)) {
        throw new GdnError('unauthorized', `${host} rejected the key in --etherscan-key-file or GDN_ETHERSCAN_KEY`)
      }
      return { ok, result }
    }
  }

  return {
    service: 'etherscan',

    async verify({ address, identifier, constructorArguments }) {
      const done = (status: VerificationResult['status']): VerificationResult => ({
        // `match` is null, because Etherscan doesn't compare the metadata hash.
        status,
        match: null,
        message: null,
        url: explorerUrl === null ? null : `${trimSlashes(explorerUrl)}/address/${address}#code`,
      })
      if (constructorArguments === null) {
        return rejectedResult('the transaction that deployed the factory is unknown: pass it with --creation-tx')
      }
      const encoded = constructorArguments.slice(2)
      for (;;) {
        const { ok, result } = await callApi(false, {
          action: 'verifysourcecode',
          contractaddress: address,
          sourceCode: standardInput,
          codeformat: 'solidity-standard-json-input',
          contractname: identifier,
          compilerversion: `v${compilerVersion}`,
          // Some services with Etherscan's API expect the misspelled name, others the correct one.
          constructorArguements: encoded,
          constructorArguments: encoded,
          licenseType: '3',
        })
        if (/already verified/i.test(result)) return done('already_verified')
        // Retry, because Etherscan hasn't indexed the block yet.
        if (!ok && /unable to locate contractcode/i.test(result)) {
          await http.wait()
          continue
        }
        if (!ok) return rejectedResult(result)
        return await verdictOf(result)
      }

      async function verdictOf(guid: string): Promise<VerificationResult> {
        for (;;) {
          const { result } = await callApi(true, { action: 'checkverifystatus', guid })
          if (/^pass/i.test(result)) return done('verified')
          if (/already verified/i.test(result)) return done('already_verified')
          if (!/pending|in progress/i.test(result)) return rejectedResult(result)
          await http.wait()
        }
      }
    },

    close: () => http.close(),
  }
}
