import type { FoundLayer } from './layer-folders.ts'

/** Matches text that needs no quotes in YAML. */
const PLAIN_TEXT = /^(?!(?:true|false|null|yes|no|on|off|y|n)$)[A-Za-z][\w ./-]*$/i

const scalar = (text: string): string => (PLAIN_TEXT.test(text) && text === text.trim() ? text : JSON.stringify(text))

/**
 * Returns a commented `art.yaml` for layers.
 *
 * @param folder the folder that contains the layers, relative to the new file or absolute
 */
export function printArt(layers: readonly FoundLayer[], folder: string): string {
  const [first] = layers
  const trait = `${first?.name}/${first?.traits[0]?.name}`
  const other = layers.at(-1)
  const against = `${other?.name}/${other?.traits[0]?.name}`
  return `# Layers, traits and rules of a collection. To check the file:
#   gdn art check art.yaml --count 1000
# For help in your editor, run \`gdn schema art > art.schema.json\`, and add this first line:
#   # yaml-language-server: $schema=art.schema.json

# {number} is the number of the NFT.
title: "NFT #{number}"
description: "One of a collection."
# collection: Name of the collection

output:
  # png, webp (lossless) or jpeg
  format: png
  # width: 1000
  # height: 1000
  # background: "#ffffff"

# From the bottom to the top. Fields of a layer:
#   optional: 20%      share or exact number of the NFTs without a trait of this layer
#   opacity: 0.5       0 to 1
#   blend: multiply    a CSS blend mode
#   hidden: true       NFTs have no attribute for this layer
#   type: number       number, boost_number, boost_percentage or date, for typed attributes
# Fields of a trait: weight, or count for an exact number of NFTs, and value, opacity, blend, hidden
layers:
${layers.map((layer) => printLayer(layer, folder)).join('')}
# Named groups of traits, for use in rules:
# groups:
#   special: [${JSON.stringify(trait)}, ${JSON.stringify(against)}]

# Rules that every NFT follows. A name is a layer, "Layer/Trait" or a group.
#   requires all, excludes all, or only_with at least one of the listed names
# rules:
#   - if: ${JSON.stringify(trait)}
#     excludes: [${JSON.stringify(against)}]

# NFTs with a unique image:
# one_of_ones:
#   - at: 1
#     image: special/one.png
#     title: "The first"
#     attributes: { Special: "Yes" }
`
}

function printLayer({ name, folder, traits }: FoundLayer, base: string): string {
  const path = `${base.replaceAll('\\', '/').replace(/\/+$/, '')}/${folder}`
  const lines = traits.map(
    ({ name: key, file, weight }) => `      ${scalar(key)}: { file: ${scalar(file)}, weight: ${weight} }\n`,
  )
  return `  - name: ${scalar(name)}\n    folder: ${scalar(path)}\n    traits:\n${lines.join('')}`
}
