// Everything that the CLI needs to set up networks, in one module that it loads on demand.
export { formatEther } from 'viem'
export { coinOf } from '../chain/evm/cost/coin.ts'
export { openKeystoreFile } from '../chain/evm/open-signer.ts'
export { type ClusterStatus, clusterStatus, setUpCluster, withCluster } from './cluster.ts'
export { planSetup, type SetupPlan } from './plan.ts'
export { runSetup } from './run.ts'
export { chainStatus } from './status.ts'
export { type ChainPlace, withChain } from './with-chain.ts'
