import { currents } from './currents.mjs'
import { orbits } from './orbits.mjs'
import { shore } from './shore.mjs'
import { tiles } from './tiles.mjs'

/** Techniques in the order in which the hours take turns. */
export const TECHNIQUES = [
  { name: 'shore', extension: 'png', draw: shore },
  { name: 'currents', extension: 'svg', draw: currents },
  { name: 'tiles', extension: 'png', draw: tiles },
  { name: 'orbits', extension: 'svg', draw: orbits },
]

/** A title and a description for every hour of the day. */
export const PIECES = [
  ['Low Moon', 'The moon stands over still water, and nothing is awake to see it.'],
  ['Undertow', 'What the sea does while its surface sleeps.'],
  ['Night Market', 'Shutters, lamps and awnings, seen from the hill.'],
  ['Clockwork', 'Every wheel turns at its own pace; all of them arrive.'],
  ['Before the Boats', 'The last dark hour belongs to the water.'],
  ['Turning Tide', 'For one minute the current cannot decide.'],
  ['Shutters Open', 'Windows take the first colour, one after another.'],
  ['Slack Water', 'Rings that a gull left behind.'],
  ['Haze', 'The sun comes through without an edge.'],
  ['Kelp', 'A forest that leans the way it is told.'],
  ['Sea Glass', 'Broken bottles, after forty years of patience.'],
  ['Harbour Radar', 'Each echo is somebody coming home.'],
  ['Noon', 'The shortest shadows of the day.'],
  ['Dune Lines', 'The wind signs its work and sweeps it away.'],
  ['Azulejo', 'A wall by the fish market, warm to the hand.'],
  ['Turntable', 'An afternoon on one side of a record.'],
  ['Copper Bay', 'The water borrows its colour from the cliffs.'],
  ['Shoal', 'A thousand small decisions to turn left.'],
  ['Beach Towels', 'Seen by a kite.'],
  ['Lighthouse', 'It has begun to count again.'],
  ['Last Ferry', 'Somebody runs along the pier.'],
  ['Night Swim', 'The current is warmer than the air.'],
  ['City Across the Water', 'Lights go on in no order at all.'],
  ['Eleven', 'The day folds itself into rings and waits.'],
].map(([title, description], hour) => ({ hour, title, description }))

/** Addresses that are the end of a hash and so nobody's: what is minted to them on a real chain is lost. */
export const RECEIVERS = [
  '0xDc5eD4A4afd639d0266794Ac753625D798a96e7B',
  '0x2609343Be9c86608d67049f38CD388C06913168A',
  '0xE2cFa3d1c208D24Ad0112866109Fe9625b1ad3CB',
  '0xe981e6b6A0C2C06Eb988D78C8f0987E9121e0D58',
  '0x105BA2A3D820926739b9443a81fb7ab5C531e823',
]
