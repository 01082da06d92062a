// Published vectors of Web3 Secret Storage, version 3: the two of its definition, keys that start with zeros,
// and files of cast and geth.
export const VECTORS = [
  {
    name: 'the vector of the definition, by scrypt',
    password: 'testpassword',
    key: '7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9d',
    address: '0x008aeeda4d805471df9b2a5b0f38a0c3bcba786b',
    json: {
      crypto: {
        cipher: 'aes-128-ctr',
        cipherparams: { iv: '83dbcc02d8ccb40e466191a123791e0e' },
        ciphertext: 'd172bf743a674da9cdad04534d56926ef8358534d458fffccd4e6ad2fbde479c',
        kdf: 'scrypt',
        kdfparams: {
          dklen: 32,
          n: 262144,
          r: 1,
          p: 8,
          salt: 'ab0c7876052600dd703518d6fc3fe8984592145b591fc8fb5c6d43190334ba19',
        },
        mac: '2103ac29920d71da29f15d75b4a16dbe95cfd7ff8faea1056c33131d846e3097',
      },
      id: '3198bc9c-6672-5ab3-d995-4942343ae5b6',
      version: 3,
    },
  },
  {
    name: 'the vector of the definition, by PBKDF2',
    password: 'testpassword',
    key: '7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9d',
    address: '0x008aeeda4d805471df9b2a5b0f38a0c3bcba786b',
    json: {
      crypto: {
        cipher: 'aes-128-ctr',
        cipherparams: { iv: '6087dab2f9fdbbfaddc31a909735c1e6' },
        ciphertext: '5318b4d5bcd28de64ee5559e671353e16f075ecae9f99c7a79a38af5f869aa46',
        kdf: 'pbkdf2',
        kdfparams: {
          c: 262144,
          dklen: 32,
          prf: 'hmac-sha256',
          salt: 'ae3cd4e7013836a3df6bd7241b12db061dbe2c6785853cce422d148a624ce0bd',
        },
        mac: '517ead924a9d0dc3124507e3393d175ce3ff7c1e96529c6c555ce9e51205e9b2',
      },
      id: '3198bc9c-6672-5ab3-d995-4942343ae5b6',
      version: 3,
    },
  },
  {
    name: 'a key of 31 bytes',
    password: 'foo',
    key: '00fa7b3db73dc7dfdf8c5fbdb796d741e4488628c41fc4febd9160a866ba0f35',
    address: '0xd1e64e5480bfaf733ba7d48712decb8227797a4e',
    json: {
      crypto: {
        cipher: 'aes-128-ctr',
        cipherparams: { iv: 'e0c41130a323adc1446fc82f724bca2f' },
        ciphertext: '9517cd5bdbe69076f9bf5057248c6c050141e970efa36ce53692d5d59a3984',
        kdf: 'scrypt',
        kdfparams: {
          dklen: 32,
          n: 2,
          r: 8,
          p: 1,
          salt: '711f816911c92d649fb4c84b047915679933555030b3552c1212609b38208c63',
        },
        mac: 'd5e116151c6aa71470e67a7d42c9620c75c4d23229847dcc127794f0732b0db5',
      },
      id: 'fecfc4ce-e956-48fd-953b-30f8b52ed66c',
      version: 3,
    },
  },
  {
    name: 'a key of 30 bytes',
    password: 'foo',
    key: '000081c29e8142bb6a81bef5a92bda7a8328a5c85bb2f9542e76f9b0f94fc018',
    address: '0x31e9d1e6d844bd3a536800ef8d8be6a9975db509',
    json: {
      crypto: {
        cipher: 'aes-128-ctr',
        cipherparams: { iv: '3ca92af36ad7c2cd92454c59cea5ef00' },
        ciphertext: '108b7d34f3442fc26ab1ab90ca91476ba6bfa8c00975a49ef9051dc675aa',
        kdf: 'scrypt',
        kdfparams: {
          dklen: 32,
          n: 2,
          r: 8,
          p: 1,
          salt: 'd0769e608fb86cda848065642a9c6fa046845c928175662b8e356c77f914cd3b',
        },
        mac: '75d0e6759f7b3cefa319c3be41680ab6beea7d8328653474bd06706d4cc67420',
      },
      id: 'a37e1559-5955-450d-8075-7b8931b392b2',
      version: 3,
    },
  },
  {
    name: 'a file of cast 1.7.1, without an address',
    password: 'a-long-password',
    key: '1e1444013540f8ede784db9594a72cefd620080c0da1441fb690750378d6df88',
    address: '0xbf60c750cf1c4f102b51101e2007f89cb78f0193',
    json: {
      crypto: {
        cipher: 'aes-128-ctr',
        cipherparams: { iv: 'a38784d8ecf8880a363b2927140d0168' },
        ciphertext: '4cb3e5f708ba7c98c7748721e71d4c53ab8b695abc38c2f7d504168aa5e5973e',
        kdf: 'scrypt',
        kdfparams: {
          dklen: 32,
          n: 8192,
          p: 1,
          r: 8,
          salt: '0519aa7118527d36bc35c167472762b71d8be1443b74d4d283944a831e11b29f',
        },
        mac: '5f8e6821ca364a10a9106945485992d83e3960042db868f460c5f1258c800ded',
      },
      id: '2a538e79-72b6-4468-b8f6-b0d5ca16d33d',
      version: 3,
    },
  },
  {
    name: 'a file of geth with an address',
    password: '',
    key: '',
    address: '0x45dea0fb0bba44f4fcf290bba71fd57d7117cbb8',
    json: {
      address: '45dea0fb0bba44f4fcf290bba71fd57d7117cbb8',
      crypto: {
        cipher: 'aes-128-ctr',
        ciphertext: 'b87781948a1befd247bff51ef4063f716cf6c2d3481163e9a8f42e1f9bb74145',
        cipherparams: { iv: 'dc4926b48a105133d2f16b96833abf1e' },
        kdf: 'scrypt',
        kdfparams: {
          dklen: 32,
          n: 2,
          p: 1,
          r: 8,
          salt: '004244bbdc51cadda545b1cfa43cff9ed2ae88e08c61f1479dbb45410722f8f0',
        },
        mac: '39990c1684557447940d4c69e06b1b82b2aceacb43f284df65c956daf3046b85',
      },
      id: 'ce541d8d-c79b-40f8-9f8c-20f59616faba',
      version: 3,
    },
  },
] as const

/** A keystore with cheap key derivation and the password `foo`, for tests that don't concern the derivation. */
export const LIGHT = VECTORS[2]

/** A keystore as `cast wallet new` writes it. */
export const OF_CAST = VECTORS[4]
