export { sealOf } from '../../api/provenance-seal.ts'
export {
  isMargin,
  isoOfSeconds,
  roundFor,
  ruleIn,
  ruleLine,
  type ShuffleRule,
  timeOfRound,
} from '../../api/shuffle-rule.ts'
