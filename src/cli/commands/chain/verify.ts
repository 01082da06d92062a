import { isEvm } from '../../../api/blockchains.ts'
import { selectProxies } from '../../../config/proxy.ts'
import { EXIT_BY_CODE, GdnError } from '../../../core/errors.ts'
import { EXIT } from '../../../core/exit-codes.ts'
import type { Secret } from '../../../core/secret.ts'
import { DEFAULT_WAIT_MS } from '../../../operations/defaults.ts'
import type { DeployedContract } from '../../../server/setup/verify/contracts.ts'
import type { VerificationResult } from '../../../server/setup/verify/verifier.ts'
import { GdnCommand } from '../../command.ts'
import { addBackendFlags } from '../../connect/data-dir.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addTimeoutFlag, apiAddress, notEmpty } from '../../flags/common.ts'
import { type Io, safe } from '../../io/io.ts'
import { createOutput, type View } from '../../render/output.ts'
import { addBlockchainArgument, formatSetupOfSettings, parseBlockchain, resolveChainOptions } from './chain-place.ts'
import { toPendingError } from './pending-on-timeout.ts'
import { etherscanKey, transactionHash, type VerifyFlags, writeInput } from './verify-flags.ts'

const RETRY_HINT =
  'The backend works without verified contracts. Run the same command again later, or write the input for another service with --to input.json.'

const VIEW: View = {
  fields: [
    ...['blockchain', 'chain_id', 'contract', 'address', 'service', 'status', 'match', 'url', 'message'],
    ...['identifier', 'compiler', 'constructor_arguments'],
  ],
  columns: ['contract', 'address', 'service', 'status', 'match', 'message'],
  id: 'address',
  plural: 'verifications',
}

/** Returns the view. On a terminal, the reasons are below the table. With --to, there are no verdicts. */
function createView({ stdoutTty }: Io, { to }: VerifyFlags): View {
  const hidden = to !== undefined ? ['service', 'match', 'message'] : stdoutTty ? ['message'] : []
  return { ...VIEW, columns: VIEW.columns.filter((column) => !hidden.includes(column)) }
}

export function command(deps: Deps, run = verify): GdnCommand {
  return new GdnCommand({
    about:
      'The command submits the sources of two contracts to Sourcify: the factory, and the contract that every collection clones. With an Etherscan key, the command also submits them to Etherscan. The command first compares the sources with the code on the chain, then submits them and waits for the results. If a contract is already verified, the command succeeds. The exit code is 5 if a service rejects a contract. Block explorers resolve the clones (EIP-1167), so collections need no separate verification.',
    examples: [
      ['Verify the contracts on Sourcify', 'gdn chain verify polygon'],
      ['Also verify the contracts on Etherscan', 'gdn chain verify polygon --etherscan-key-file etherscan.key'],
      ['Write the compiler input for another service', 'gdn chain verify polygon --to input.json'],
    ],
  })
    .with(addBlockchainArgument)
    .valueFlag('--etherscan-key-file <file>', 'File with the Etherscan API key', notEmpty)
    .valueFlag('--sourcify-url <url>', 'URL of another Sourcify server', apiAddress)
    .valueFlag('--etherscan-url <url>', 'URL of another Etherscan API', apiAddress)
    .valueFlag('--creation-tx <hash>', 'Hash of the transaction that deployed the factory', notEmpty)
    .valueFlag('--to <file>', 'Write the standard JSON input to a new file without submitting it', notEmpty)
    .with(
      (own) => addTimeoutFlag(own, 'How long the command may take (5m for the results)'),
      addBackendFlags,
      addOutputFlags,
    )
    .action(async (name: string, flags: VerifyFlags) => await run(deps, name, flags))
}

export async function verify(deps: Deps, name: string, flags: VerifyFlags): Promise<void> {
  const { io } = deps
  const blockchain = parseBlockchain(name)
  if (!isEvm(blockchain)) throw new GdnError('usage', `${blockchain} has no gdn contracts to verify`)
  const output = createOutput(io, flags, createView(io, flags))
  const creation = transactionHash(flags.creationTx)
  const key = await etherscanKey(deps, flags)
  const { checkCode, compilerVersion, deployedContracts, standardInput } = await import(
    '../../../server/setup/verify/contracts.ts'
  )
  const { withChain } = await import('../../../server/setup/with-chain.ts')
  const place = await resolveChainOptions(deps, flags)
  await withChain(
    place,
    blockchain,
    async ({ store, network, settings }) => {
      const contracts = await deployedContracts(
        { store, network, setup: formatSetupOfSettings(blockchain, flags, settings) },
        creation,
      )
      const record = (contract: DeployedContract, service: string | null, verdict: VerificationResult | null) => ({
        blockchain,
        chain_id: network.chainId,
        contract: contract.name,
        address: contract.address,
        service,
        ...(verdict ?? { status: 'written', match: null, url: null, message: null }),
        identifier: contract.identifier,
        compiler: `v${compilerVersion}`,
        constructor_arguments: contract.constructorArguments,
      })
      if (flags.to !== undefined) {
        await writeInput(deps, flags.to, standardInput)
        if (flags.to === '-') return
        return await output.many(contracts.map((contract) => record(contract, null, null)))
      }
      for (const contract of contracts) await checkCode(network, contract)
      if (flags.timeout === undefined) deps.signals.endAfter(DEFAULT_WAIT_MS)
      const { signal } = deps.signals
      const pages = settings.blockExplorerUrl
      const progress = await io.progress(`Verifying the contracts on ${blockchain}`)
      const onRetry = (why: string) => progress.update(`${safe(why)}, retrying`)
      const verifiers = await openVerifiers(deps, flags, { chainId: network.chainId, signal, key, pages, onRetry })
      try {
        const records = []
        for (const verifier of verifiers) {
          let unreachable: VerificationResult | null = null
          for (const contract of contracts) {
            progress.update(`${contract.name}: waiting for ${verifier.service}`)
            const verdict: VerificationResult =
              unreachable ?? (await verifier.verify(contract).catch((error: unknown) => toFailedResult(deps, error)))
            if (verdict.status === 'rejected') deps.setExitCode(EXIT.refused)
            // Don't send further requests to this service, because each of them would take just as long to fail.
            if (verdict.status === 'failed') unreachable = verdict
            records.push(record(contract, verifier.service, verdict))
          }
        }
        progress.stop()
        await output.many(records)
        printReasons(io, output.mode, records)
        if (output.mode === 'table' && records.some(({ status }) => status === 'failed')) io.note(RETRY_HINT)
      } catch (error) {
        throw toPendingError(error, 'a service has not returned a result yet')
      } finally {
        progress.stop()
        for (const verifier of verifiers) await verifier.close()
      }
    },
    { keys: false },
  )
}

/** On a terminal, prints the full text of each reason once, because the table has no room for it. */
function printReasons(io: Io, mode: string, records: readonly { service: string | null; message: string | null }[]) {
  if (mode !== 'table' || !io.stdoutTty) return
  const reasons = records.flatMap(({ service, message }) => (message === null ? [] : [`${service}: ${safe(message)}`]))
  for (const reason of new Set(reasons)) io.warn(reason)
}

interface VerifierSettings {
  onRetry: (why: string) => void
  chainId: number
  signal: AbortSignal
  key: Secret | null
  pages: string | null
}

async function openVerifiers(
  { env }: Deps,
  flags: VerifyFlags,
  { chainId, signal, key, pages: explorerUrl, onRetry }: VerifierSettings,
) {
  const { createEtherscan, ETHERSCAN_URL } = await import('../../../server/setup/verify/etherscan.ts')
  const { createSourcify, SOURCIFY_URL } = await import('../../../server/setup/verify/sourcify.ts')
  const at = (url: string) => ({ url, proxy: selectProxies(url, env), chainId, signal, onRetry })
  const sourcify = createSourcify(at(flags.sourcifyUrl ?? SOURCIFY_URL))
  if (key === null) return [sourcify]
  return [sourcify, createEtherscan({ ...at(flags.etherscanUrl ?? ETHERSCAN_URL), key, explorerUrl })]
}

/** Returns a verdict for a service that failed, so that verification continues with other services. */
function toFailedResult(deps: Deps, error: unknown): VerificationResult {
  if (!(error instanceof GdnError) || deps.signals.signal.aborted) throw error
  deps.setExitCode(EXIT_BY_CODE[error.code])
  return { status: 'failed', match: null, url: null, message: error.message }
}
