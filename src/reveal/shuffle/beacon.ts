export {
  type Beacon,
  type BeaconChain,
  isPublicKey,
  isSigned,
  publicKeyOf,
  QUICKNET,
  signRound,
  verifyBeacon,
} from '../../api/beacon.ts'
