export { FINALIZER, image2sixel, introducer, sixelEncode } from 'sixel/lib/SixelEncoder.js'
