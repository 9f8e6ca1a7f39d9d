-- Two tenants with models of different size; every table gets a row, every kind of event a change.
select * from memlayer.add(
  p_user_id           => 'ann',
  p_facts             => '[{"text": "Ann likes green tea", "entities": [1]}, {"text": "Ann lives in Ulm"}]',
  p_embeddings        => array['[1,0,0]', '[0,1,0]']::halfvec[],
  p_model             => 'small',
  p_entities          => '[{"name": "Ann", "type": "person"}]',
  p_entity_embeddings => array['[0,0,1]']::halfvec[],
  p_messages          => '[{"role": "user", "content": "I like green tea and live in Ulm"}]',
  p_metadata          => '{"topic": "food"}');

select * from memlayer.add(
  p_tenant     => 'acme',
  p_agent_id   => 'bot',
  p_facts      => '[{"text": "Invoices are due within 30 days"}]',
  p_embeddings => array[(select array_agg(sin(n))::vector(1536) from generate_series(1, 1536) n)]::halfvec[],
  p_model      => 'large');

select memlayer.update(
  p_id        => (select id from memlayer.memory where text = 'Ann lives in Ulm'),
  p_text      => 'Ann lives in Rome',
  p_embedding => '[0,0.9,0.1]',
  p_model     => 'small');

select memlayer.add(p_user_id => 'bob', p_facts => '[{"text": "Bob is gone"}]', p_embeddings => array['[1,1,1]']::halfvec[], p_model => 'small');
select memlayer.delete(p_id => (select id from memlayer.memory where text = 'Bob is gone'));
