import { checksumAddress, evmAddressProblem } from '../../../api/address.ts'
import { isEvm } from '../../../api/blockchains.ts'
import { count } from '../../../core/count.ts'
import { flagError, GdnError } from '../../../core/errors.ts'
import { Secret } from '../../../core/secret.ts'
import { formatCoins, formatUnits } from '../../../core/units.ts'
import type { Signer } from '../../../server/chain/evm/evm-signer.ts'
import type { Hex } from '../../../server/chain/evm/network.ts'
import type { SetupPlan } from '../../../server/setup/plan.ts'
import type { OpenedChain } from '../../../server/setup/with-chain.ts'
import { GdnCommand } from '../../command.ts'
import { addBackendFlags } from '../../connect/data-dir.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addTimeoutFlag, notEmpty } from '../../flags/common.ts'
import { safe } from '../../io/io.ts'
import { readInput } from '../../io/request-file.ts'
import { askSecret } from '../../prompt/ask-missing.ts'
import { createOutput, type Output } from '../../render/output.ts'
import { openWithProgress } from '../wallet/while-opening.ts'
import { addBlockchainArgument, parseBlockchain, resolveChainOptions, warnIfRetired } from './chain-place.ts'
import type { SetupFlags } from './flags.ts'
import { toPendingError } from './pending-on-timeout.ts'
import { SETUP_VIEW } from './setup-view.ts'

const DEFAULT_TIMEOUT_MS = 60 * 60_000

export function command(deps: Deps, run = setup): GdnCommand {
  return new GdnCommand({
    about:
      "Run this command once before you create collections on a network, and again after you add operators to the configuration. The admin's key only deploys the factory and authorizes operators, so keep the key offline at other times. The key can also be in a remote signer, which you set as `admin` in the configuration. gdn records each transaction before it sends it, so you can run the same command again to resume an interrupted setup. You can run the command while the backend is running. Restart a running backend to use the network.\nOn Solana, there is no factory, and the command sends nothing. It permanently assigns the configured signer to the cluster, and shows the cost of collections and NFTs.",
    examples: [
      ['Show the cost', 'gdn chain setup polygon --admin-keystore admin.json --dry-run'],
      ['Set up the network', 'gdn chain setup polygon --admin-keystore admin.json --password-file admin.password'],
      ['Show the cost of tokens on Solana', 'gdn chain setup solana --dry-run'],
      [
        'Use an existing factory',
        'gdn chain setup polygon --admin-keystore admin.json \\',
        '  --factory 0x2609343Be9c86608d67049f38CD388C06913168A',
      ],
    ],
  })
    .with(addBlockchainArgument)
    .valueFlag('--admin-keystore <file>', "Keystore of the factory's admin", notEmpty)
    .valueFlag('--password-file <file>', 'File with the password, or - for standard input', notEmpty)
    .valueFlag('--factory <address>', 'Address of an existing factory of this admin', notEmpty)
    .switchFlag('--dry-run', 'Show the transactions and their maximum cost without sending them')
    .switchFlag('-y, --yes', "Don't prompt before spending")
    .with(
      (own) => addTimeoutFlag(own, 'How long the command may take (1h after you confirm)'),
      addBackendFlags,
      addOutputFlags,
    )
    .action(async (name: string, flags: SetupFlags) => await run(deps, name, flags))
}

export async function setup(deps: Deps, name: string, flags: SetupFlags): Promise<void> {
  const { io } = deps
  const blockchain = parseBlockchain(name)
  if (!isEvm(blockchain)) {
    const { setUpSolana } = await import('./setup-solana.ts')
    return await setUpSolana(deps, blockchain, flags)
  }
  const output = createOutput(io, flags, SETUP_VIEW)
  const knownFactory = flags.factory === undefined ? undefined : parseFactoryAddress(flags.factory)
  const [
    { checkKeystoreFile },
    { describeMissingFunds },
    { findCoinSymbol },
    { planSetup },
    { chainSettings, withChain },
  ] = await Promise.all([
    import('../../../server/chain/evm/open-signer.ts'),
    import('../../../server/chain/missing-funds.ts'),
    import('../../../server/settings/networks.ts'),
    import('../../../server/setup/plan.ts'),
    import('../../../server/setup/with-chain.ts'),
  ])
  const place = await resolveChainOptions(deps, flags)
  const { adminKeystore: file } = flags
  // Report invalid settings before the password prompt.
  await chainSettings(place, blockchain)
  if (file !== undefined) checkKeystoreFile(file)
  const keystoreAdmin = file === undefined ? null : await openAdmin(deps, file, flags)
  await withChain(place, blockchain, async ({ store, network, operators: signers, ...more }) => {
    const admin = keystoreAdmin ?? more.admin ?? refuseWithoutAdmin()
    const operators = signers.map(({ address }) => address)
    warnIfRetired(io, blockchain)
    const plan = await planSetup({ store, network, admin: admin.address, operators, knownFactory: knownFactory })
    const coin = findCoinSymbol(network.chainId)
    const payer = { role: 'admin', address: admin.address, blockchain, coin } as const
    const lack = plan.gas > 0n ? describeMissingFunds(payer, plan.balance, plan.cost + plan.owed) : null
    const planned = { deps, flags, output, store, network, admin, operators, plan, coin }
    if (flags.dryRun) {
      await printSetup(planned, plan.isDone ? 'done' : 'planned', plan.factory)
      if (lack !== null) io.note(`Send coins before the setup: ${lack}.`)
      return
    }
    if (plan.gas > 0n) await confirmCost(planned, lack)
    await makeSetup(planned)
  })
}

/** The planned setup of a network. */
interface PlannedSetup extends Pick<OpenedChain, 'store' | 'network'> {
  deps: Deps
  flags: SetupFlags
  output: Output
  admin: Signer
  operators: readonly Hex[]
  plan: SetupPlan
  coin: string | null
}

async function printSetup(
  { output, store, network, admin, operators, plan, coin }: PlannedSetup,
  status: 'done' | 'planned',
  factory: Hex | null,
): Promise<void> {
  const { deploymentCost } = await import('../../../server/setup/run.ts')
  const { blockchain, chainId } = network
  const deployment = factory === null ? null : await deploymentCost(store, blockchain, factory)
  await output.one({
    blockchain,
    chain_id: chainId,
    currency: coin,
    status,
    factory,
    admin: admin.address,
    operators,
    to_appoint: plan.operatorsToAuthorize,
    gas: Number(plan.gas),
    cost: formatUnits(plan.cost),
    deployment_gas: deployment === null ? null : Number(deployment.gas),
    deployment_cost: deployment === null ? null : formatUnits(deployment.paid),
    balance: formatUnits(plan.balance),
    needed_per_operator: formatUnits(plan.neededPerOperator),
  })
}

/** @param lack the coins that the admin lacks, as a sentence; null if its balance is sufficient */
async function confirmCost({ deps, flags, network, plan, coin }: PlannedSetup, lack: string | null): Promise<void> {
  if (lack !== null) {
    throw new GdnError('refused', lack, { hint: 'Nothing was sent. Send coins to that address first.' })
  }
  const maxCostText = `${formatCoins(plan.cost, 'up')} ${coin ?? 'coins'}`
  const action = `${describeSetupPlan(plan)} on ${network.blockchain} (chain ID ${network.chainId}), for at most ${maxCostText}`
  if (!flags.yes) await deps.io.confirm(`${action}?`, '--yes')
}

/** Sends the planned transactions, waits until they are final and prints the result. */
async function makeSetup(planned: PlannedSetup): Promise<void> {
  const { deps, flags, store, network, admin, operators, plan } = planned
  const { io, now, signals } = deps
  const { blockchain } = network
  const { runSetup } = await import('../../../server/setup/run.ts')
  const progress = await io.progress(`Setting up ${blockchain}`)
  /**
   * Steps whose block count was already printed. Without a terminal, each step's block count is printed only once.
   */
  const counted = new Set<string>()
  if (flags.timeout === undefined) signals.endAfter(DEFAULT_TIMEOUT_MS)
  try {
    const factory = await runSetup({
      store,
      network,
      admin,
      operators,
      plan,
      now,
      log: SILENT_LOG,
      signal: signals.signal,
      // Without a terminal, every message is printed. There are only a few, and one of them reports an unreachable
      // network.
      report: (text) => (io.stderrTty ? progress.update(safe(text)) : io.note(safe(text))),
      reportBlocksLeft(text, blocks) {
        const line = `${text}: ${count(blocks, 'block')} left`
        if (io.stderrTty) progress.update(line)
        else if (!counted.has(text)) io.note(line)
        counted.add(text)
      },
    }).catch((error: unknown) => {
      if (error !== signals.signal.reason) throw error
      throw withResumeHint(toPendingError(error, 'the setup is not confirmed on the network yet'))
    })
    progress.stop()
    await printSetup(planned, 'done', factory)
    io.note(`${blockchain} is set up. To use the network, start the backend with this configuration.`)
  } finally {
    progress.stop()
  }
}

function refuseWithoutAdmin(): never {
  throw new GdnError('usage', 'is required, because the configuration has no admin', {
    place: { flag: '--admin-keystore' },
    hint: "Add --admin-keystore <file> with the keystore of the factory's admin. Run `gdn wallet generate` to create one.",
  })
}

function parseFactoryAddress(text: string): `0x${string}` {
  const problem = evmAddressProblem(text)
  if (problem !== null) throw flagError('--factory', problem)
  return checksumAddress(text) as `0x${string}`
}

/** Adds a hint about resuming to an error. */
const withResumeHint = (error: unknown): unknown =>
  error instanceof GdnError ? error.with({ hint: 'Run the same command again to resume the setup.' }) : error

const SILENT_LOG = { debug() {}, info() {}, warn() {}, error() {} }

async function openAdmin(deps: Deps, file: string, flags: SetupFlags): Promise<Signer> {
  const { openKeystoreFile } = await import('../../../server/chain/evm/open-signer.ts')
  const password = await readPassword(deps, flags)
  return await openWithProgress(deps, () => openKeystoreFile(file, password, flags.passwordFile))
}

async function readPassword({ io }: Deps, { passwordFile, adminKeystore }: SetupFlags): Promise<Secret> {
  const { parsePassword, passwordProblem, readPasswordFile } = await import('../../../keystore/password.ts')
  if (passwordFile === '-') return parsePassword(await readInput(io, '-'), 'stdin', passwordProblem)
  if (passwordFile !== undefined) return readPasswordFile(passwordFile)
  return new Secret(await askSecret(io, { message: `Password of ${adminKeystore}`, flag: '--password-file' }))
}

function describeSetupPlan({ factory, operatorsToAuthorize, replacesDeployment }: SetupPlan): string {
  const authorize = `uthorize ${operatorsToAuthorize.join(', ')}`
  if (replacesDeployment)
    return `Replace the pending deployment of the factory${operatorsToAuthorize.length > 0 ? ` and a${authorize}` : ''}`
  if (factory !== null) return `A${authorize}`
  return operatorsToAuthorize.length === 0
    ? 'Deploy the factory'
    : `Wait for the pending deployment of the factory, then a${authorize}`
}
