import type { Topic } from '../topic.ts'

export const security: Topic = {
  about:
    'A key is worth what it may do: it is given by no flag, shown by no command, and sent to no server but its own.',
  examples: [
    ['Save a key; it is asked for, or read from a pipe', 'gdn auth login --base-url https://api.example.com'],
    [
      'A key for one job, from the store of your CI',
      'GDN_BASE_URL=https://api.example.com GDN_API_KEY="$KEY" gdn nft list',
    ],
    [
      'A key of your own backend that may read only',
      'gdn key create --name shop --email me@example.com --permission nft:read',
    ],
  ],
  sections: [
    {
      title: 'API keys',
      text: `A key is saved for the origin of its server and goes to no other, whatever another file or flag says.
It is kept in the keyring of the system where one works, else in a file that only you may read: gdn auth status says where. A file of keys that others may read is refused, with the command that mends it.
GDN_API_KEY goes where a flag, GDN_BASE_URL or your own profile points. Where a project file alone names the server, the command stops: a repository that somebody cloned must not get the key.`,
    },
    {
      title: 'Wallets',
      text: `gdn wallet generate keeps the key of a new wallet in a keystore that its password opens, in a folder that only you may enter (gdn config path). The password is asked for, or read from a file of mode 600 or a pipe. The file and the password together are the only way to the wallet: keep copies.
A signed URL is called on the server's own origin, or on the host that GDN_WALLET_URL or your profile's wallet_url names: whoever answers there knows the key.`,
    },
    {
      title: 'Project files',
      text: 'A project may name server, blockchain, contract and profile, in JSON or YAML. It can hold no key, name no storage and no host of wallets, and run no code.',
    },
    {
      title: 'What is never shown',
      text: 'Errors, logs, recorded runs and --debug output contain no keys. Recorded runs contain what was sent: public metadata and addresses. Only you can read them.',
    },
    {
      title: 'What is public for ever',
      text: 'Metadata and files of an NFT can be read by everybody. That is why an unknown column of a manifest is an error.',
    },
    {
      title: 'The backend',
      text: `Unless --host and --allowed-host say otherwise, it listens on this machine only and answers to no other host name. It stores keys as hashes, and takes the key of its own account from this machine only (--allow-local-key). It fetches files from public addresses only, unless --allow-private-files says otherwise, asks no server for more than a few at once, and stores no HTML pages unless --allow-html-files says so. Content from an IPFS gateway (--ipfs-gateway) is checked against its CID, block by block.
For other machines give it --tls-cert and --tls-key, or a proxy that encrypts and whose address --trust-proxy names.`,
    },
  ],
}
